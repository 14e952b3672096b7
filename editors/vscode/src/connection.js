// The language server as a process: frames of JSON with a Content-Length on its standard input and output.
'use strict';
const child_process = require('child_process');

const CANCELLED = -32800;

// What the server has refused: `code` of the protocol, and words for people.
class Refused extends Error {
  constructor(error) {
    super(error.message);
    this.code = error.code;
  }
}

class Connection {
  // handlers: by method of a notification; ended: called once, with what there is to say, when the server is gone.
  constructor(command, args, options, handlers, ended) {
    this.handlers = handlers;
    this.ended = ended;
    this.waiting = new Map(); // by id: {resolve, reject}
    this.lastId = 0;
    this.alive = true;
    this.bytes = Buffer.alloc(0);
    this.said = ''; // on standard error, the end of it
    this.process = child_process.spawn(command, args, { ...options, stdio: 'pipe' });
    this.process.on('error', e => this.end(`cannot start ${command}: ${e.message}`));
    this.process.on('exit', (code, signal) => this.end(signal ? `it ended by ${signal}` : `it ended with code ${code}`));
    this.process.stdin.on('error', () => {}); // `exit` follows
    this.process.stderr.on('data', data => { this.said = (this.said + data).slice(-2000); });
    this.process.stdout.on('data', data => this.read(data));
  }

  // --- Messages from the server

  read(data) {
    this.bytes = Buffer.concat([this.bytes, data]);
    for (;;) {
      const end = this.bytes.indexOf('\r\n\r\n');
      const header = end < 0 ? null : /Content-Length: *(\d+)/i.exec(this.bytes.toString('ascii', 0, end));
      const length = header ? Number(header[1]) : 0;
      if (end < 0 || this.bytes.length < end + 4 + length) {
        return;
      }
      const text = this.bytes.toString('utf8', end + 4, end + 4 + length);
      this.bytes = this.bytes.subarray(end + 4 + length);
      if (header) {
        this.take(JSON.parse(text));
      }
    }
  }

  take(message) {
    if (message.method !== undefined) {
      const handler = this.handlers[message.method];
      if (handler) {
        handler(message.params);
      }
      if (message.id !== undefined) { // we offer nothing that may be asked for
        this.write({ id: message.id, error: { code: -32601, message: `there is no method ${message.method}` } });
      }
      return;
    }
    const asked = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (asked && message.error) {
      asked.reject(new Refused(message.error));
    } else if (asked) {
      asked.resolve(message.result);
    }
  }

  end(why) {
    if (!this.alive) {
      return;
    }
    this.alive = false;
    for (const asked of this.waiting.values()) {
      asked.reject(new Refused({ code: CANCELLED, message: why }));
    }
    this.waiting.clear();
    this.ended(this.said ? `${why}: ${this.said.trim()}` : why);
  }

  // --- Messages to it

  write(message) {
    if (this.alive && this.process.stdin.writable) {
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
      this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
      this.process.stdin.write(body);
    }
  }

  tell(method, params) {
    this.write({ method, params });
  }

  // The result, or a Refused; token: VS Code's, which may cancel it.
  ask(method, params, token) {
    if (!this.alive) {
      return Promise.reject(new Refused({ code: CANCELLED, message: 'the language server is not running' }));
    }
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const listening = token && token.onCancellationRequested(() => this.tell('$/cancelRequest', { id }));
      const done = then => value => {
        if (listening) {
          listening.dispose();
        }
        then(value);
      };
      this.waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.write({ id, method, params });
    });
  }

  // Ends the server in order, or, if it does not go, by force.
  async stop() {
    const gone = new Promise(resolve => this.process.once('exit', resolve));
    if (!this.alive) {
      return;
    }
    this.ended = () => {};
    const late = setTimeout(() => this.process.kill('SIGKILL'), 2000);
    await this.ask('shutdown').catch(() => {});
    this.tell('exit');
    this.process.stdin.end();
    await gone;
    clearTimeout(late);
  }
}

module.exports = { CANCELLED, Connection, Refused };
