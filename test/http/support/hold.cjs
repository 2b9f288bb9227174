// Put before a server with `node --require`. On SIGUSR2 it blocks the event loop (HOLD=loop), or a thread of the engine
// that works on the first open index (HOLD=engine): a batch there waits for embeddings that never come.
'use strict';
const { writeSync } = require('node:fs');

process.on('SIGUSR2', () => {
  if (process.env.HOLD === 'loop') {
    writeSync(2, 'held\n');
    for (;;);
  }
  const native = require(process.env.GANNET_ADDON);
  const job = {
    batchUid: 1000,
    taskUids: [1000],
    now: new Date().toISOString(),
    steps: [
      {
        task: 1000,
        kind: 'documents',
        method: 'replace',
        payload: { buffer: 0 },
        format: 'json',
        primaryKey: null,
        skipCreation: false,
      },
    ],
  };
  const payload = Buffer.from('[{"id":1,"title":"one"}]');
  native.applyBatch(1, JSON.stringify(job), [payload], () => writeSync(2, 'held\n'));
});
