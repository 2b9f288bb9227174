/**
 * Functions that exceed limits, with the expected outcome. `null`: it succeeds. None may end the
 * server or use much of its memory.
 */

const DOUBLED = (length: number, piece = 'a'): string =>
  `let s = "${piece}"; for i in 0..${Math.ceil(Math.log2(length))} { s += s; }`;
const BIG = DOUBLED(16_777_216);
const HALF = DOUBLED(8_388_608);
const ITEMS = 'let a = []; a.pad(10_000, 7);';

const LENGTH = /length of a string is beyond the limit/;
const OPERATIONS = /More than 1000000 operations/;
const ITEMS_MAX = /more than 10000 items/;
const ENTRIES_MAX = /more than 10000 entries/;
const TIME = /ran for more than 5 s/;

export const ATTACKS: readonly (readonly [name: string, script: string, failure: RegExp | null])[] =
  [
    // These once ended the process.
    [
      'a replacement in 268 MB',
      'let s="a"; for i in 0..28 { s += s; } s.replace("a","b");',
      LENGTH,
    ],
    ['padding to 536 MB', 'let s = ""; s.pad(536870000,"b")', LENGTH],
    ['JSON of 50 MB', 'let s = "[0,0,0,0]"; s.pad(50_000_000, " "); parse_json(s)', LENGTH],
    // Strings.
    ['a string of 16 Mi', `${BIG} doc.n = s.len();`, null],
    ['one character more', `${BIG} s += "a";`, LENGTH],
    ['one more before it', `${BIG} s = "a" + s;`, LENGTH],
    ['in a template', `${BIG} s = \`\${s}a\`;`, LENGTH],
    ['in a template of many', `${BIG} s = \`\${s}\${s}\${s}\${s}\${s}\${s}\${s}\`;`, LENGTH],
    ['pushed', `${BIG} s.push("a");`, LENGTH],
    ['appended', `${BIG} s.append(1);`, LENGTH],
    ['a replacement that grows', `${HALF} s.replace("a", "bbb");`, LENGTH],
    ['a replacement of nothing', `${HALF} s.replace("", "bbb");`, LENGTH],
    ['a replacement that looks like a pattern', `${HALF} s.replace("a", "$&$&$&");`, LENGTH],
    ['upper case that is longer', DOUBLED(8_388_608, 'ΐ') + ' s = s.to_upper();', LENGTH],
    ['upper case in its place', DOUBLED(8_388_608, 'ΐ') + ' s.make_upper();', LENGTH],
    ['a character set to a text', `${BIG} s.set(0, "bb");`, LENGTH],
    ['an index set to a text', `${BIG} s[5] = "bb";`, LENGTH],
    ['padding by a long filler', `${HALF} let t = ""; t.pad(16_777_216, s + "b");`, null],
    ['padding by many', 'let s = ""; s.pad(9_223_372_036_854_775_807, "ab")', LENGTH],
    ['padding by long characters', 'let s = ""; s.pad(16_000_000, "😀")', LENGTH],
    ['a text of an array', `${BIG} let a = [s, s, s]; a.to_string()`, LENGTH],
    ['a debug text of an array', `${HALF} let a = [s, s, s]; a.to_debug()`, LENGTH],
    ['an array in a template', `${HALF} let a = [s, s, s]; \`\${a}\``, LENGTH],
    ['an array added to a string', `${HALF} let a = [s, s, s]; "" + a`, LENGTH],
    ['JSON of a map', `${HALF} #{a: s, b: s, c: s}.to_json()`, LENGTH],
    [
      'JSON of many',
      `${BIG} ${ITEMS} for i in 0..9000 { a[i] = s; } #{a: a}.to_json()`,
      OPERATIONS,
    ],
    ['JSON of control characters', `${DOUBLED(4_194_304, '\\x01')} #{a: s}.to_json()`, LENGTH],
    ['a thrown text', `${BIG} throw s;`, /threw a{4000} /],
    ['a thrown array', `${HALF} throw [s, s, s];`, LENGTH],
    [
      'a caught text, thrown again',
      `${HALF} for i in 0..100 { try { throw s; } catch (e) { s = e; } }`,
      null,
    ],
    [
      'messages that grow',
      'let m = ""; loop { try { throw m; } catch (e) { m = "" + e + e; } }',
      OPERATIONS,
    ],
    [
      'strings kept until memory ends',
      `${BIG} ${ITEMS} for i in 0..14 { a[i] = s + ""; a[i].make_upper(); a[i].set(0, "é"); }`,
      OPERATIONS,
    ],
    ['16 Mi reversed parts', `${BIG} s.split_rev("a")`, ITEMS_MAX],
    ['16 Mi parts', `${BIG} s.split("a")`, ITEMS_MAX],
    ['16 Mi characters apart', `${BIG} s.split("")`, ITEMS_MAX],
    ['16 Mi spaces', `${DOUBLED(8_388_608, 'a ')} s.split()`, ITEMS_MAX],
    ['16 Mi characters', `${BIG} s.chars()`, ITEMS_MAX],
    ['the last of 16 Mi characters', `${BIG} doc.c = s.chars(16_777_210, 3).len();`, null],
    ['16 Mi characters in a loop', `${BIG} for c in s { }`, OPERATIONS],
    ['each character by its index', `${DOUBLED(131_072)} for i in 0..131072 { s[i] }`, OPERATIONS],
    ['many short texts', 'let s = ""; for i in 0..300_000 { s += "abc"; } doc.n = s.len();', null],
    [
      'spaces within a text',
      'let s = " "; for i in 0..22 { s += s; } s = "a" + s + "a"; s.trim(); s.trim();',
      null,
    ],
    ['half a number', `${DOUBLED(8_388_608, '1')} s += "x"; parse_float(s)`, /not a number/],
    ['digits', `${DOUBLED(8_388_608, '1')} parse_float(s)`, /not a number/],
    ['an integer of digits', `${DOUBLED(8_388_608, '1')} parse_int(s)`, /not an integer/],
    ['an integer of zeros', `${DOUBLED(8_388_608, '0')} doc.n = parse_int(s);`, null],
    [
      'a search that compares everything with everything',
      `${HALF} let h = s.sub_string(0, 2_000_000); doc.f = s.contains(h + "b" + h);`,
      TIME,
    ],
    ['comparisons of long texts', `${BIG} let t = s + ""; while s == t { }`, OPERATIONS],
    ['an order of long texts', `${BIG} let t = s + ""; while s <= t { }`, OPERATIONS],
    ['a long text as key', `${BIG} let m = #{}; for i in 0..100_000 { m[s] = i; }`, OPERATIONS],
    [
      'long texts as keys',
      `${HALF} let m = #{}; for i in 0..9000 { m[s + i] = i; } m.to_json()`,
      OPERATIONS,
    ],
    [
      'occurrences of a short text',
      `${HALF} s.replace("a", "b"); s -= "b"; doc.n = s.len();`,
      OPERATIONS,
    ],
    // Arrays and maps.
    ['an item more', `${ITEMS} a.push(1);`, ITEMS_MAX],
    ['an array more', `${ITEMS} a += [1];`, ITEMS_MAX],
    ['an array with itself', `${ITEMS} a.append(a);`, ITEMS_MAX],
    ['an array padded', `${ITEMS} a.pad(10_001, 1);`, /at most 10000 items/],
    ['an array spliced', `${ITEMS} a.splice(0, 0, [1]);`, ITEMS_MAX],
    ['an array in a range', 'range(0, 9_223_372_036_854_775_807, 1)', ITEMS_MAX],
    ['arrays of arrays', `${ITEMS} let b = []; loop { b.push(a); }`, OPERATIONS],
    ['arrays padded with arrays', `${ITEMS} let b = []; b.pad(10_000, a);`, OPERATIONS],
    ['arrays in arrays', 'let a = [1]; loop { a = [a, a]; }', OPERATIONS],
    ['copies of an array', `${ITEMS} loop { let b = a; }`, OPERATIONS],
    ['equal arrays', `${ITEMS} let b = a; loop { a == b }`, OPERATIONS],
    ['a search in an array', `${ITEMS} loop { 8 in a }`, OPERATIONS],
    ['sorting', `${ITEMS} loop { a.sort(); }`, OPERATIONS],
    ['sorting by a function', `${ITEMS} loop { a.sort(|x, y| x - y); }`, OPERATIONS],
    ['orders', `${ITEMS} loop { a.order_desc(); }`, OPERATIONS],
    ['reversing', `${ITEMS} loop { a.reverse(); }`, OPERATIONS],
    ['a queue', `${ITEMS} while !a.is_empty() { a.shift(); }`, null],
    ['insertions at the front', 'let a = []; for i in 0..10_000 { a.insert(0, i); }', null],
    ['entries', 'let m = #{}; for i in 0..10_001 { m["k" + i] = i; }', ENTRIES_MAX],
    [
      'entries one by one',
      'let m = #{}; for i in 0..10_000 { m["k" + i] = i; } doc.n = m.len();',
      null,
    ],
    ['keys', 'let m = #{}; for i in 0..10_000 { m["k" + i] = i; } loop { m.keys(); }', OPERATIONS],
    ['a map in itself', 'let m = #{a: 1}; loop { m.m = m; }', OPERATIONS],
    [
      'maps mixed',
      'let m = #{}; for i in 0..10_000 { m["k" + i] = i; } loop { m.mixin(m); }',
      OPERATIONS,
    ],
    [
      'an array that its own map lets grow',
      'let a = [1]; a.map(|x| { a.push(x); a.map(|y| a.push(y)) })',
      null,
    ],
    ['a reduction that lets it grow', 'let a = [1]; a.reduce(|s, x| { a.push(x); 1 })', ITEMS_MAX],
    [
      'a retention that lets it grow',
      'let a = [1]; loop { a.retain(|x| { a.push(x); true }); }',
      OPERATIONS,
    ],
    // Depth.
    ['a deep array', 'let a = []; for i in 0..100_000 { a = [a]; }', OPERATIONS],
    ['a deep map', 'let a = #{}; for i in 0..100_000 { a = #{a: a}; }', OPERATIONS],
    [
      'a deep array as JSON',
      'let a = []; for i in 0..1000 { a = [a]; } doc.t = #{a: a}.to_json();',
      null,
    ],
    ['deep JSON', `let s = "["; for i in 0..20 { s += s; } parse_json(s)`, /not JSON/],
    [
      'deep JSON that ends',
      'let s = "["; let t = "]"; for i in 0..18 { s += s; t += t; } parse_json(s + t)',
      /nested deeper than 128/,
    ],
    [
      'JSON of arrays',
      `${DOUBLED(4_194_304, '[],')} parse_json("[" + s + "0]")`,
      /operations|10000 items/,
    ],
    ['JSON of small arrays', `${DOUBLED(1_048_576, '[],')} parse_json("[" + s + "0]")`, ITEMS_MAX],
    [
      'JSON of maps in arrays',
      `let s = "{},"; for i in 0..12 { s += s; } let t = "[" + s + "0],"; for i in 0..6 { t += t; } parse_json("[" + t + "0]")`,
      null,
    ],
    ['JSON of long keys', `${HALF} parse_json("{\\"" + s + "\\":0}")`, OPERATIONS],
    [
      'JSON of keys',
      'let s = "{"; for i in 0..20_000 { s += `"${i}":0,`; } parse_json(s + `"x":1}`)',
      ENTRIES_MAX,
    ],
    ['JSON of a long number', `${DOUBLED(1_048_576, '1')} parse_json(s)`, null],
    ['JSON with `__proto__`', 'doc.p = parse_json(`{"__proto__":{"x":1}}`);', null],
    ['calls', 'fn f() { f() } f()', /nested deeper than 1000/],
    ['calls of two', 'fn f(n) { g(n + 1) } fn g(n) { f(n + 1) } f(0)', /nested deeper than 1000/],
    ['calls by name', 'fn f() { let p = Fn("f"); p.call() } f()', /nested deeper than 1000/],
    [
      'calls within sorting',
      'fn f(a, b) { [2, 1].sort(Fn("f")); 0 } [2, 1].sort(Fn("f"))',
      /nested deeper than 1000/,
    ],
    ['calls that branch', 'fn f(n) { if n > 0 { f(n - 1); f(n - 1); } } f(60)', OPERATIONS],
    [
      'closures in closures',
      'let f = |x| x; for i in 0..100_000 { let g = f; f = |x| g.call(x) + 1; } f.call(1)',
      /nested deeper than 1000/,
    ],
    ['curried arguments', 'let f = |x| x; loop { f = f.curry(1); }', /operations|10000 items/],
    // Numbers.
    ['a huge power', '9 ** 9_223_372_036_854_775_807', /overflow/],
    ['powers', 'let x = 2; loop { x = x ** 2; }', /overflow/],
    [
      'a huge float',
      'let x = 1e308; doc.x = (x * 10.0).to_string() + (x * 1.0).to_string();',
      null,
    ],
    ['digits of a float', 'doc.x = (1.0 / 3.0).round(9_000_000_000_000_000_000);', null],
    ['shifts', 'doc.x = 1 << 9_223_372_036_854_775_807;', null],
    // Loops.
    ['an endless loop', 'loop { }', OPERATIONS],
    ['an endless condition', 'while true { }', OPERATIONS],
    ['a huge range', 'for i in 0..9_223_372_036_854_775_807 { }', OPERATIONS],
    ['a huge range of nothing', 'for i in 0..=9_223_372_036_854_775_807 { continue; }', OPERATIONS],
    ['errors', 'loop { try { throw 1; } catch { } }', OPERATIONS],
    ['errors of the language', 'loop { try { 1 / 0; } catch (e) { } }', OPERATIONS],
    ['errors of missing functions', 'loop { try { x.y(); } catch (e) { } }', OPERATIONS],
    ['a limit caught', 'try { loop { } } catch { doc.x = 1; }', OPERATIONS],
    [
      'conditions within a loop',
      'while { let x = 0; while x < 10 { x += 1; } true } { }',
      OPERATIONS,
    ],
    // The document.
    ['a long document', `${BIG} for i in 0..5 { doc["k" + i] = s; }`, LENGTH],
    ['a document that is as long as can be', `${HALF} for i in 0..5 { doc["k" + i] = s; }`, null],
    ['a document in itself', 'loop { doc.d = doc; }', OPERATIONS],
    ['a long id', `${BIG} doc.id = s;`, /primary key was changed/],
    // Things that the language cannot reach.
    ['the platform', 'doc.x = process.exit(0);', /no variable `process`/],
    ['a constructor', 'doc.x = doc.constructor; doc.y = [].constructor;', /no property/],
    ['a prototype', 'let m = #{}; m["__proto__"] = 1; doc.p = m["toString"];', null],
  ];
