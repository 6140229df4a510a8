// Normalisation of tool output before it is hashed (spec 2.4): what changes by itself becomes a fixed word.
// Counts, versions, names and exit codes stay: they are what is new. Every pattern is bounded, so time is linear.

const raw = String.raw;

const month = raw`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}`;
const weekday = raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}`;
const fraction = raw`(?:[.,]\d{1,9})?`;
const clock = raw`\d{1,2}:\d{2}:\d{2}${fraction}`;
const zone = raw`(?: ?(?:Z|UTC|GMT|CES?T|[ECMP][SD]T)\b| ?[+-]\d{2}:?\d{2}\b)`;
const number = raw`\d{1,12}(?:[.,]\d{1,9}){0,2}`;
const unit = raw`(?:ns|[µμu]s|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?)`;
const bar = "[=#>█▉▊▋▌▍▎▏░▒▓━╸╺]";
const percent = raw`\d{1,3}(?:\.\d{1,3})?%`;
const amount = raw`\d{1,9}(?:\.\d{1,3})? ?(?:[kKMGT]i?)?B?`;
const verb =
  "(?:Receiving|Resolving|Counting|Compressing|Writing|Enumerating|Unpacking|Updating files|" +
  "Checking out files|Filtering content|Downloading|Downloaded|Uploading|Extracting|Fetching|" +
  "Pulling|Pushing|Copying|Progress|Reading package lists)";
const hex = raw`[\da-fA-F]`;

/** Applied in this order: what a later rule would tear apart comes first. A bare HH:MM may be a line and column. */
const rules: ReadonlyArray<readonly [replacement: string, patterns: readonly string[]]> = [
  [
    "",
    [
      raw`\u001b\[[0-?]{0,64}[ -\/]{0,8}[@-~]`,
      raw`\u001b\][^\u0007\u001b]{0,2048}(?:\u0007|\u001b\\)`,
      raw`\u001b[ -\/]{0,4}[0-Z\\^-~]`,
    ],
  ],
  ["<uuid>", [`(?<!${hex})${hex}{8}-(?:${hex}{4}-){3}${hex}{12}(?!${hex})`]],
  [
    "<time>",
    [
      raw`(?<!\d)\d{4}-\d{2}-\d{2}[T _]\d{2}[:_-]\d{2}(?:[:_-]\d{2}(?:[.,_]\d{1,9})?)?${zone}?`,
      raw`\b\d{8}T\d{6}Z?\b`,
      raw`(?<![\w/])\d{4}/\d{2}/\d{2} ${clock}${zone}?`,
      raw`(?<![\w/])\d{1,2}/${month}/\d{4}:${clock}${zone}?`,
      raw`\b(?:${weekday},? )?\d{1,2} ${month} \d{4} ${clock}${zone}?`,
      raw`\b(?:${weekday} )?${month} {1,2}\d{1,2} ${clock}${zone}?(?: \d{4}\b)?${zone}?`,
      raw`\b${month} {1,2}\d{1,2} \d{1,2}:\d{2}\b(?!:)`,
      raw`(?<![\w.:/])${clock}(?: ?[AP]M\b)?${zone}?(?![\w:])`,
      raw`(?<![\w.:/])\d{1,2}:\d{2}(?: ?[AP]M\b|${zone})`,
      raw`(?<=\b(?:at|of|since|until) )\d{1,2}:\d{2}(?![\w:])`,
      raw`(?<![\w.-])1[5-9]\d{8}(?:\.\d{1,9}|\d{3})?(?![\w.-])`,
    ],
  ],
  [
    "<date>",
    [
      raw`(?<![\w.@:/+-])\d{4}-\d{2}-\d{2}(?![\w-])`,
      raw`(?<![\w./-])\d{4}/\d{2}/\d{2}(?![\w/-])`,
      raw`(?<![\w./-])\d{1,2}/\d{1,2}/\d{4}(?![\w/-])`,
      raw`\b(?:${weekday},? )?${month} {1,2}\d{1,2},? \d{4}\b`,
      raw`\b(?:${weekday},? )?\d{1,2} ${month} \d{4}\b`,
    ],
  ],
  [
    "<tmp>",
    [
      raw`(?<![\w.])(?:/private)?(?:/var)?/tmp/[\w.@+~-]{1,255}`,
      raw`/var/folders/[\w+]{1,8}/[\w+]{1,64}/T/[\w.@+~-]{1,255}`,
      raw`\b[A-Z]:\\[\w .\\~-]{1,100}\\Temp\\[\w.@+~-]{1,255}`,
      raw`(?<=/)(?:tmp\.[A-Za-z0-9]{6,12}|tmp[a-z0-9_]{8}|pytest-\d{1,9})(?![\w.-])`,
    ],
  ],
  [
    "<address>",
    [
      raw`\b0x${hex}{9,16}\b`,
      raw`(?<=\b(?:at|addr|address|pc|sp|fp|ptr|pointer)[ =:]{1,2})0x${hex}{4,16}\b`,
    ],
  ],
  [
    "<pid>",
    [
      raw`(?<=\b(?:[Pp]id|PID|[Tt]id|TID)["']?[ =:#(\[]{1,3})\d{1,9}\b`,
      raw`(?<=\b[Pp]rocess(?: id)?[ =:#(\[]{1,3})\d{3,9}\b`,
      raw`(?<=[A-Za-z_)-]\[)\d{3,9}(?=\]:)`,
      raw`(?<=^==)\d{1,9}(?===)`,
      raw`(?<=\(node:)\d{1,9}(?=\))`,
    ],
  ],
  [
    "<progress>",
    [
      raw`(?:${percent} ?)?[\[|](?=[ .-]{0,80}${bar})(?:${bar}|[ .-]){3,160}[\]|](?: ?${percent})?(?: {1,4}${amount}/${amount})?`,
      raw`\[(?:\d{1,4}:)?\d{1,2}:\d{2}<[^\]\n]{1,40}\]`,
      raw`(?<=\b${verb}\b[^\n%]{0,60})${percent}(?: \(\d{1,9}/\d{1,9}\))?`,
      raw`\[ {0,2}${percent}\]`,
    ],
  ],
  ["<rate>", [raw`(?<![\w.])${number} ?(?:(?:[kKMGT]i?)?B|bytes|it)/s(?:ec)?\b`]],
  [
    "<duration>",
    [
      raw`(?<![\w.-])(?:\d{1,6}(?:\.\d{1,9})?(?:ms|[smhdwy])(?: (?=\d))?){1,5}(?: ago\b)?(?![\w-]|\.\d)`,
      raw`(?<![\w.-])${number} ?${unit}(?: ago| old)?\b`,
      raw`(?<![\w.-])\d{1,6} (?:months?|years?)(?: ago| old)\b`,
      raw`\b(?:(?:[Aa]bout|almost|over|[Ll]ess than) )?(?:an?|a few) (?:second|minute|hour|day|week|month|year)s?(?: ago)?\b`,
      raw`\b(?:just|right) now\b`,
    ],
  ],
  // Columns are as wide as the ages in them.
  [" ", [raw`(?<=\S)[ \t]{2,}`]],
];

const compiled = rules.flatMap(([replacement, patterns]) =>
  patterns.map((pattern) => ({ pattern: new RegExp(pattern, "gm"), replacement })),
);

/** The same text for outputs that differ only in what changes by itself. Linear in the length of the text. */
export function normalise(text: string): string {
  const shown = eachLine(text.replaceAll("\r\n", "\n"), lastWritten);
  const replaced = compiled.reduce(
    (changed, { pattern, replacement }) => changed.replace(pattern, replacement),
    shown,
  );
  return withoutRepeats(eachLine(replaced, (line) => line.trimEnd()));
}

function eachLine(text: string, change: (line: string) => string): string {
  return text
    .split("\n")
    .map((line) => change(line))
    .join("\n");
}

/** What starts a terminal's line anew: a lone carriage return, cursor to the first column, line erased. */
const rewrites = ["\r", "\u001b[1G", "\u001b[0G", "\u001b[G", "\u001b[2K"];

/** A line as a terminal ends up showing it; how many frames a progress bar had depends on the clock. */
function lastWritten(line: string): string {
  return rewrites.reduce((shown, mark) => {
    const at = shown.trimEnd().lastIndexOf(mark);
    return at < 0 ? shown : shown.slice(at + mark.length);
  }, line);
}

/** How often a program without a terminal repeats its progress depends on the clock as well. */
function withoutRepeats(text: string): string {
  const lines = text.split("\n");
  const kept = lines.filter((line, at) => !line.includes("<progress>") || line !== lines[at - 1]);
  return kept.join("\n");
}
