/** Mocha's usual report, and at the end a file (GANNET_TEST_TIMES) that says what each test and each file took, and which files failed. */
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { reporters } = require('mocha');

class TimedReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const tests = [];
    const files = {};
    const failing = new Set();
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
    // A hook that fails counts as well.
    runner.on('fail', ({ file }) => failing.add(file === undefined ? '' : relative('', file)));
    runner.once('end', () => {
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const report = { passed, failed, skipped, tests, files, failing: [...failing] };
      writeFileSync(process.env.GANNET_TEST_TIMES, JSON.stringify(report));
    });
  }
}

module.exports = TimedReporter;
