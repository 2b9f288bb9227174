// What the tests of isolates run: it sends back what has an `echo`, crashes, fills memory, hangs.
const { parentPort } = require('node:worker_threads');

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node
const send = (message) => (parentPort ? parentPort.postMessage(message) : process.send(message));
const take = (message) => {
  if ('echo' in message) send(message);
  if (message.is === 'crash') process.exit(3);
  if (message.is === 'throw') throw new Error('thrown');
  if (message.is === 'hang') for (;;);
  if (message.is === 'fill')
    for (const all = []; ;) all.push(Array.from({ length: 1e5 }, () => ({})));
};
(parentPort ?? process).on('message', take);
