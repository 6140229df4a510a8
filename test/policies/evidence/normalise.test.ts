// Normalisation (spec 2.4) on logs as real programs write them: pairs that are the same, and pairs that never may be.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalise } from "../../../policies/evidence/normalise.ts";

const same: ReadonlyArray<readonly [name: string, one: string, other: string]> = [
  [
    "the specification's own poll",
    "CI still running (as of 12:03:11)",
    "CI still running (as of 13:44:02)",
  ],
  [
    "npm install",
    "added 57 packages, and audited 58 packages in 3s\n\nfound 0 vulnerabilities",
    "added 57 packages, and audited 58 packages in 11s\n\nfound 0 vulnerabilities",
  ],
  [
    "npm's path of its log",
    "npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-30T23_24_03_123Z-debug-0.log",
    "npm error A complete log of this run can be found in: /root/.npm/_logs/2026-12-01T08_01_59_007Z-debug-0.log",
  ],
  [
    "git fetch with its progress",
    "Receiving objects:  12% (3/25)\rReceiving objects: 100% (25/25), 4.10 KiB | 1.02 MiB/s, done.",
    "Receiving objects: 100% (25/25), 4.10 KiB | 834.00 KiB/s, done.",
  ],
  [
    "git log",
    "commit 9fceb02\nDate:   Mon Nov 30 23:24:03 2026 +0000\n\n    fix",
    "commit 9fceb02\nDate:   Tue Dec 1 01:02:03 2026 +0100\n\n    fix",
  ],
  ["git log, relative", "9fceb02 fix (3 minutes ago)", "9fceb02 fix (2 weeks ago)"],
  [
    "docker pull without a terminal",
    "a1b2: Downloading [==>       ]  12.3MB/45.6MB\na1b2: Downloading [=====>    ]  30MB/45.6MB\na1b2: Pull complete",
    "a1b2: Downloading [=======>  ]  40MB/45.6MB\na1b2: Pull complete",
  ],
  [
    "docker ps",
    "abc  web  Up About a minute  0.0.0.0:80->80/tcp",
    "abc  web  Up 5 minutes       0.0.0.0:80->80/tcp",
  ],
  [
    "GitHub's log of a workflow",
    "2026-11-30T23:24:03.1234567Z ##[group]Run npm test",
    "2026-12-01T00:00:00.7654321Z ##[group]Run npm test",
  ],
  [
    "gh run list",
    "X  ci  main  push  7012345678  1m12s  about 2 hours ago",
    "X  ci  main  push  7012345678  58s  about 3 hours ago",
  ],
  [
    "pytest",
    "tests/test_a.py .. [ 40%]\n===== 5 passed in 0.12s =====",
    "tests/test_a.py .. [ 66%]\n===== 5 passed in 12.31s =====",
  ],
  [
    "pytest's temporary folder",
    "E  AssertionError: /tmp/pytest-of-root/pytest-12/test_x0/out.txt",
    "E  AssertionError: /tmp/pytest-of-root/pytest-13/test_x0/out.txt",
  ],
  [
    "cargo",
    "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 1.23s",
    "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 2m 01s",
  ],
  [
    "cargo test",
    "test result: ok. 5 passed; 0 failed; 0 ignored; finished in 0.00s",
    "test result: ok. 5 passed; 0 failed; 0 ignored; finished in 3.17s",
  ],
  ["go test", "ok  \texample.org/pkg\t0.123s", "ok  \texample.org/pkg\t14.002s"],
  ["jest", "✓ adds (3 ms)\nTime:        1.234 s", "✓ adds (12 ms)\nTime:        3.9 s"],
  [
    "vitest",
    "Start at  23:24:03\nDuration  1.23s (transform 20ms, setup 0ms)",
    "Start at  08:00:00\nDuration  980ms (transform 31ms, setup 2ms)",
  ],
  [
    "kubectl get pods, with columns as wide as the age",
    "NAME    READY   STATUS    RESTARTS   AGE\nweb-1   1/1     Running   0          9m59s",
    "NAME    READY   STATUS    RESTARTS     AGE\nweb-1   1/1     Running   0            5d3h",
  ],
  [
    "apt-get",
    "Get:1 http://deb.debian.org bookworm InRelease [151 kB]\nFetched 9,184 kB in 2s (5,012 kB/s)",
    "Get:1 http://deb.debian.org bookworm InRelease [151 kB]\nFetched 9,184 kB in 13s (617 kB/s)",
  ],
  [
    "pip and tqdm",
    " 45%|████▌     | 45/100 [00:12<00:15,  3.61it/s]\r100%|██████████| 100/100 [00:27<00:00,  3.61it/s]",
    "100%|██████████| 100/100 [00:31<00:00,  3.20it/s]",
  ],
  ["curl -w", "HTTP/2 200 in 0.123 seconds", "HTTP/2 200 in 1.9 seconds"],
  [
    "syslog",
    "Nov 30 23:24:03 host sshd[1234]: Accepted",
    "Dec  1 00:00:01 host sshd[20111]: Accepted",
  ],
  [
    "nginx",
    '::1 - - [30/Nov/2026:23:24:03 +0000] "GET / HTTP/1.1" 200 5',
    '::1 - - [01/Dec/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5',
  ],
  ["go's log", "2026/11/30 23:24:03 listening", "2026/12/01 04:05:06 listening"],
  ["an HTTP header", "date: Mon, 30 Nov 2026 23:24:03 GMT", "date: Tue, 01 Dec 2026 00:00:00 GMT"],
  [
    "epoch seconds and milliseconds",
    '{"at":1796081043,"ok":true}',
    '{"at":1796081043123,"ok":true}',
  ],
  ["ls -l", "-rw-r--r-- 1 root root 12 Nov 30 23:24 a", "-rw-r--r-- 1 root root 12 Dec  1 00:01 a"],
  ["a date in words", "valid until Nov 30, 2026", "valid until December 1, 2026"],
  ["a date alone", "report of 2026-11-30", "report of 2026-12-01"],
  ["python's address", "<Foo object at 0x7f8b1c2d3e50>", "<Foo object at 0x7f0000aa1230>"],
  [
    "go's panic",
    "main.main()\n\t/src/a.go:12 +0x1d fp=0xc00012",
    "main.main()\n\t/src/a.go:12 +0x1d fp=0xc0ffee",
  ],
  [
    "a UUID",
    "request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 accepted",
    "request 6FA459EA-EE8A-3CA4-894E-DB77E160355E accepted",
  ],
  [
    "a process id",
    "Started server process [4711], pid=4711",
    "Started server process [2311], pid=23",
  ],
  ["node's warning", "(node:4711) Warning: x", "(node:99) Warning: x"],
  ["mktemp", "wrote /tmp/tmp.aB3dE5fG7h/out.json", "wrote /tmp/tmp.Zz9Yy8Xx7w/out.json"],
  ["colours", "\u001b[32mok\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007", "ok link"],
  ["a spinner", "\u001b[1G\u001b[0K⠙\u001b[1G\u001b[0Kdone", "done"],
  ["line ends and trailing blanks", "a  \r\nb\r\n", "a\nb\n"],
];

const different: ReadonlyArray<readonly [name: string, one: string, other: string]> = [
  ["the count of failures", "5 passed, 1 failed in 2s", "5 passed, 2 failed in 2s"],
  ["errors that are left", "Found 12 errors in 3 files", "Found 11 errors in 3 files"],
  ["a version", "web@1.2.3", "web@1.2.4"],
  ["a version made of a date", "image: ubuntu:2026-11-30", "image: ubuntu:2026-12-01"],
  ["a calendar version", "pip 26.1.2", "pip 26.2.0"],
  ["a test's name", "FAIL test/a.test.ts > adds", "FAIL test/b.test.ts > adds"],
  ["the place of an error", "src/a.ts:12:34 - error", "src/a.ts:12:35 - error"],
  ["line and column of a linter", "  12:34  error  unused", "  12:35  error  unused"],
  ["coverage", "All files | 87.3 | 80%", "All files | 88.1 | 80%"],
  ["coverage in words", "Statements   : 87.3% ( 45/52 )", "Statements   : 88.4% ( 46/52 )"],
  ["a commit", "HEAD is now at 9fceb02", "HEAD is now at 1a2b3c4"],
  ["a number of a run", "actions/runs/7012345678", "actions/runs/7012345679"],
  ["a state", "web-1 1/1 Running 0 5m", "web-1 0/1 CrashLoopBackOff 0 5m"],
  ["restarts", "web-1 1/1 Running 0 5m", "web-1 1/1 Running 3 5m"],
  ["an HTTP status", "HTTP/1.1 200 OK", "HTTP/1.1 503 Service Unavailable"],
  ["a size", "12M dist", "13M dist"],
  ["a port", "listening on :4700", "listening on :4701"],
  ["an error code in hexadecimal", "error 0x80070005", "error 0x80070002"],
  ["steps of progress that are work", "process 3 of 5 done", "process 4 of 5 done"],
  ["a mandate's id", "child m-7d is done", "child m-8d is done"],
  ["an index", "items[1]: invalid", "items[2]: invalid"],
  ["indentation", "a:\n  b: 1", "a:\nb: 1"],
  ["lines", "a\nb", "a\nb\nb"],
  ["a rule of a table", "|---|---|\n| a | 1 |", "|---|---|\n| a | 2 |"],
];

describe("normalise", () => {
  test.each(same)("makes the same of %s", (_, one, other) => {
    expect(normalise(one)).toBe(normalise(other));
    expect(one).not.toBe(other);
  });

  test.each(different)("keeps apart %s", (_, one, other) => {
    expect(normalise(one)).not.toBe(normalise(other));
  });

  const hostile = [
    "1",
    "1:",
    "1,",
    "1.",
    " ",
    "\t ",
    "\r",
    "\u001b[",
    "\u001b]",
    "[=",
    "|-",
    "1d",
    "1d ",
    "a-",
    "f-",
    "0x",
    "/tmp/",
    "C:\\",
    "Receiving ",
    "Nov 3",
    "Mon Nov 30 ",
    "at ",
    "99% ",
    "x  ",
    "pid ",
    "\u001b[2K",
    "<progress>\n",
  ];
  // Quadratic work on so many characters would not end within the test's own limit.
  test.each(hostile)("takes linear time on much of %j", (unit) => {
    const text = unit.repeat(Math.ceil(300_000 / unit.length));
    expect(normalise(text).length).toBeLessThanOrEqual(text.length * 6);
  });

  test("makes instants equal wherever they stand between words", () => {
    const words = fc.stringMatching(/^[a-zA-Z ,;()"'=]{0,20}$/);
    const instant = fc
      .date({ min: new Date("2020-01-01"), max: new Date("2030-01-01"), noInvalidDate: true })
      .map((date) => date.toISOString());
    fc.assert(
      fc.property(fc.tuple(words, words), instant, instant, ([before, after], one, other) => {
        const texts = [one, other].map((time) => normalise(`${before} ${time} ${after}`));
        expect(texts[0]).toBe(texts[1]);
      }),
    );
  });

  test("survives any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => normalise(text).length >= 0));
  });
});
