// The reporter that ends every test run (spec 8.4, 8.6): what was skipped and why, then one line
// alone, `N passed, N failed, N skipped`. A file or run that broke counts as failed, never as nothing.
import type { Reporter, TestCase, TestModule } from "vitest/node";

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const skipped = tests.filter((test) => test.result().state === "skipped");
    const broken = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const failed =
      tests.filter((test) => test.result().state === "failed").length +
      broken.filter((part) => part.errors().length > 0).length +
      unhandledErrors.length;
    const passed = tests.filter((test) => test.result().state === "passed").length;
    for (const line of whatWasSkipped(skipped)) console.log(line);
    console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  }
}

function whatWasSkipped(skipped: readonly TestCase[]): string[] {
  const byReason = Map.groupBy(skipped, reasonOf);
  return [...byReason].flatMap(([reason, tests]) => [
    `Skipped, ${reason}:`,
    ...tests.map((test) => `  ${test.module.relativeModuleId} > ${test.fullName}`),
  ]);
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  return (result.state === "skipped" ? result.note : undefined) ?? "no reason given";
}
