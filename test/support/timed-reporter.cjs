/** Mocha's usual report, and at the end a file (GANNET_TEST_TIMES) that says what each test and each file took. */
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { reporters } = require('mocha');

class TimedReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const tests = [];
    const files = {};
    const begun = new Map();
    runner.on('suite', (suite) => begun.set(suite, performance.now()));
    runner.on('suite end', (suite) => {
      // With its hooks: often they take longer than the tests.
      if (!suite.parent?.root || suite.file === undefined) return;
      const file = relative('', suite.file);
      files[file] = (files[file] ?? 0) + performance.now() - begun.get(suite);
    });
    runner.on('test end', (test) => {
      if (test.duration === undefined) return;
      tests.push({ title: test.fullTitle(), file: relative('', test.file), ms: test.duration });
    });
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      writeFileSync(
        process.env.GANNET_TEST_TIMES,
        JSON.stringify({ passed: passes, failed: failures, skipped: pending, tests, files }),
      );
    });
  }
}

module.exports = TimedReporter;
