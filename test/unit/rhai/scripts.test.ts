import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { DocumentEditor, type EditedDocuments } from '../../../src/rhai/edit.ts';
import { ScriptError, ScriptSyntaxError } from '../../../src/rhai/errors.ts';
import { EXPRESSIONS } from './expressions.ts';

/** The JSON text that a script leaves in `doc.r`. */
function valueOf(script: string): string {
  const functions = /^fn |\sfn /.test(script);
  // Functions must be at the top level; the value is that of the last statement.
  const text = functions ? withResult(script) : `doc.r = { ${script}\n };`;
  return left(text, '{"id":1}').replace(/^\{"id":1,"r":(.*)\}$/, '$1');
}

/** The last expression after the functions becomes the value. */
function withResult(script: string): string {
  const functions: string[] = [];
  let rest = script;
  for (;;) {
    const begin = /(^|\s)fn /.exec(rest);
    if (begin === null) break;
    let depth = 0;
    let end = rest.indexOf('{', begin.index);
    for (; ; end++) {
      if (rest[end] === '{') depth++;
      if (rest[end] === '}' && --depth === 0) break;
    }
    functions.push(rest.slice(begin.index, end + 1));
    rest = rest.slice(0, begin.index) + rest.slice(end + 1);
  }
  return `${functions.join(' ')} doc.r = { ${rest} };`;
}

/** All edited parts of a page. */
function edited(editor: DocumentEditor, page: string): EditedDocuments {
  const all: EditedDocuments = { ndjson: '', edited: 0, deleted: [] };
  for (const part of editor.parts(page)) {
    all.ndjson += part.ndjson;
    all.edited += part.edited;
    all.deleted.push(...part.deleted);
  }
  return all;
}

/** The document as a script leaves it. */
function left(script: string, document: string, context: string | null = null): string {
  const editor = new DocumentEditor(script, context, 'id');
  const { ndjson } = edited(editor, `{"results":[${document}]}`);
  return ndjson.trimEnd();
}

describe('scripts', () => {
  for (const [script, expected] of EXPRESSIONS) {
    if (/^return |\{ return 1 \} 2/.test(script)) continue;
    it(script.replaceAll('\n', '⏎'), () => {
      assert.equal(valueOf(script), expected);
    });
  }

  it('return ends the script', () => {
    assert.equal(left('doc.a = 1; return; doc.a = 2;', '{"id":1}'), '{"id":1,"a":1}');
    assert.equal(left('if doc.id == 1 { return 5 } doc.a = 2;', '{"id":1}'), '');
  });
});

describe('scripts that fail', () => {
  const failing: [script: string, message: RegExp][] = [
    ['9223372036854775807 + 1', /overflow/],
    ['-9223372036854775808 - 1', /overflow/],
    ['9223372036854775807 * 2', /overflow/],
    ['abs(-9223372036854775808)', /overflow/],
    ['3 ** 100', /overflow/],
    ['1 / 0', /zero/],
    ['1 % 0', /zero/],
    ['2 ** -1', /exponent/],
    ['[1][1]', /outside/],
    ['[1][-2]', /outside/],
    ['"abc"[3]', /outside/],
    ['[1]["a"]', /index/],
    ['#{a: 1}[0]', /key/],
    ['unknown', /no variable `unknown`/],
    ['unknown = 1', /no variable `unknown`/],
    ['unknown(1)', /no function `unknown`/],
    ['"a".unknown()', /no function `unknown`/],
    ['().x', /no property/],
    ['let x = 1; x.y = 2', /no property/],
    ['if 1 { }', /boolean/],
    ['!5', /not defined/],
    ['-"a"', /not defined/],
    ['[1] - 1', /not defined/],
    ['const X = 1; X = 2', /constant/],
    ['const X = [1]; X[0] = 2', /constant/],
    ['fn f(x) { x } f()', /no function `f`/],
    ['fn f() { doc } f()', /no variable `doc`/],
    ['this', /not bound/],
    ['throw "stop"', /stop/],
    ['for x in 5 { }', /iterated/],
    ['parse_int("x")', /not an integer/],
    ['parse_float("x")', /not a number/],
    ['parse_json("{")', /JSON/],
    ['[2, "a"].order()', /sorted/],
    ['|x| x; (|x| x).call()', /takes 1 arguments/],
    // Limits.
    ['loop { }', /operations/],
    ['try { loop { } } catch { }', /operations/],
    ['fn f(n) { f(n + 1) } f(0)', /deeper/],
    ['let s = "x"; loop { s += s }', /limit/],
    ['let s = "x"; s.pad(1_000_000_000_000, "x")', /limit/],
    ['let a = []; loop { a.push(1) }', /10000/],
    ['let a = [1]; loop { a += a }', /10000/],
    ['let m = #{}; for i in 0..20000 { m[`${i}`] = i }', /10000/],
    ['let a = []; a.pad(10001, 0)', /10000/],
  ];
  for (const [script, message] of failing) {
    it(script, () => {
      assert.throws(
        () => left(script, '{"id":1}'),
        (error) => error instanceof ScriptError && message.test(error.message),
      );
    });
  }
});

describe('scripts that do not compile', () => {
  const nested = (open: string, close: string, levels: number): string =>
    open.repeat(levels) + '1' + close.repeat(levels);
  const wrong: string[] = [
    ...['let x = ;', 'let = 1', 'if { }', '1 +', '(1', '[1', '#{a 1}', '#{a: 1, a: 2}', '"open'],
    ...[
      '`open ${1',
      "'ab'",
      '/* open',
      'fn f(x, x) { }',
      'fn f() { } fn f() { }',
      '{ fn f() { } }',
    ],
    ...['break', 'continue', '1 = 2', 'f() = 2', 'import "x" as y;', 'x::y', 'switch 1 { x => 1 }'],
    ...['switch 1 { _ => 1, 2 => 2 }', 'var x = 1', 'doc.', '1 2', '@', '"\\q"', '"\\ud800"'],
    ...[
      nested('(', ')', 2000),
      nested('[', ']', 2000),
      '-'.repeat(2000) + '1',
      '1' + '+1'.repeat(2000),
    ],
    ...['x' + '.x'.repeat(2000), nested('`${', '}`', 200), `fn f() { ${nested('(', ')', 200)} }`],
    ...['if true { } ' + 'else if true { } '.repeat(2000), '{'.repeat(2000)],
    Array.from({ length: 31 }, (_, n) => `fn f${n}() { }`).join(' '),
    Array.from({ length: 1001 }, (_, n) => `let v${n} = 0;`).join(' '),
  ];
  for (const script of wrong) {
    it(script.slice(0, 60), () => {
      assert.throws(() => left(script, '{"id":1}'), ScriptSyntaxError);
    });
  }
});

describe('edited documents', () => {
  const book =
    '{"id":7,"title":"Dune","tags":["a"],"price":8.5,"big":18446744073709551615,"note":null}';

  it('are left alone when nothing changes', () => {
    assert.equal(left('let x = doc.title;', book), '');
    assert.equal(left('doc.title = "Dune";', book), '');
    assert.equal(left('doc.x = 1; doc.remove("x");', book), '');
    assert.equal(left('doc.price = 8.5;', '{"id":7, "price" : 8.50}'), '');
  });

  it('keep numbers that the language cannot hold', () => {
    assert.equal(left('doc.title = 1;', book).includes('"big":18446744073709551615'), true);
  });

  it('distinguish integers from floats', () => {
    assert.equal(left('doc.price = 1.0;', '{"id":7,"price":1}'), '{"id":7,"price":1.0}');
  });

  it('are deleted when `doc` is unit', () => {
    const editor = new DocumentEditor('if doc.id != 2 { doc = () }', null, 'id');
    const page = edited(editor, '{"results":[{"id":1},{"id":2},{"id":"x"}],"offset":0}');
    assert.deepEqual(page, { ndjson: '', edited: 0, deleted: ['1', 'x'] });
  });

  it('cannot lose or change their primary key, nor become something else', () => {
    for (const script of [
      'doc.id = 8',
      'doc.id = "7"',
      'doc.id = 7.0',
      'doc.remove("id")',
      'doc = 12',
      'doc = []',
    ]) {
      assert.throws(() => left(script, book), ScriptError);
    }
  });

  it('see the context, each a fresh one that cannot be changed', () => {
    assert.equal(left('doc.n = context.a[0] + 1;', '{"id":1}', '{"a":[1]}'), '{"id":1,"n":2}');
    assert.throws(() => left('context.a = 1', '{"id":1}', '{"a":[1]}'), /constant/);
    assert.throws(() => left('doc.x = context', '{"id":1}'), /no variable `context`/);
    const editor = new DocumentEditor('let c = context; c.push(1); doc.n = c.len();', '[0]', 'id');
    assert.equal(
      edited(editor, '{"results":[{"id":1},{"id":2}]}').ndjson,
      '{"id":1,"n":2}\n{"id":2,"n":2}\n',
    );
  });

  it('have vectors only if they had some or the function added some', () => {
    assert.equal(left('doc.a = 1;', '{"id":1,"_vectors":{}}'), '{"id":1,"a":1}');
    assert.equal(left('let x = 1;', '{"id":1,"_vectors":{}}'), '');
    assert.equal(
      left('doc._vectors = #{m: [1.0]};', '{"id":1,"_vectors":{}}'),
      '{"id":1,"_vectors":{"m":[1.0]}}',
    );
  });

  it('name the document and the position of a failure', () => {
    assert.throws(() => left('\n doc.x = 1 / 0;', book), /document `7`.*line 2, position 12/);
  });
});
