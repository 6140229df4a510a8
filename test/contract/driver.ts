// The contract of the driver port (spec 3.5), one suite for all drivers: when the scheduler is woken, and never twice
// at the same time. How time passes is the adapter's own.
import { describe, expect, onTestFinished, test } from "vitest";
import type { Driver } from "../../app/scheduler/driver.ts";

export interface DriverHarness {
  readonly driver: Driver;
  readonly now: () => number;
  /** Lets time pass up to this instant and everything happen that is due until then, this instant included. */
  readonly passTo: (at: number) => Promise<void>;
  /** Another process commits. */
  readonly commitElsewhere: () => void;
  /** At the latest after this long it hears of what others committed. */
  readonly hearMs: number;
  /** At the latest after this long it looks, whatever happened. */
  readonly pauseMs: number;
  readonly close: () => Promise<void>;
}

interface Scene extends DriverHarness {
  /** Instants at which a call of `wake` began. */
  readonly woken: number[];
  /** While this is set a call of `wake` lasts until `finish`. */
  readonly lasting: { isOn: boolean; finish: () => void; most: number };
}

export function describeDriver(name: string, make: () => Promise<DriverHarness>): void {
  async function begin(): Promise<Scene> {
    const harness = await make();
    onTestFinished(() => harness.close());
    const woken: number[] = [];
    const lasting = { isOn: false, finish: (): void => {}, most: 0 };
    let running = 0;
    harness.driver.start(async () => {
      woken.push(harness.now());
      running += 1;
      lasting.most = Math.max(lasting.most, running);
      if (lasting.isOn) await new Promise<void>((resolve) => (lasting.finish = resolve));
      running -= 1;
    });
    // What it says of itself at first is not new to it.
    await harness.passTo(harness.now() + harness.hearMs);
    return { ...harness, woken, lasting };
  }

  describe(`the driver port: ${name}`, () => {
    describeTimes(begin);
    describeBell(begin);
    describeEnd(begin);
  });
}

type Begin = () => Promise<Scene>;

/** How often it was woken while this happened. */
async function wakesDuring(scene: Scene, happening: () => Promise<void> | void): Promise<number> {
  const before = scene.woken.length;
  await happening();
  return scene.woken.length - before;
}

function describeTimes(begin: Begin): void {
  test("wakes at the start", async () => {
    const { woken, now, hearMs } = await begin();
    expect(woken[0]).toBe(now() - hearMs);
  });

  test("wakes at the armed instant, and never before", async () => {
    const scene = await begin();
    const at = scene.now() + scene.pauseMs / 2;
    scene.driver.arm(at);
    expect(await wakesDuring(scene, () => scene.passTo(at - 1))).toBe(0);
    expect(await wakesDuring(scene, () => scene.passTo(at))).toBe(1);
    expect(scene.woken.at(-1)).toBe(at);
  });

  test.each([
    ["a later", 4, 2],
    ["an earlier", 2, 4],
  ])("arming it for %s instant takes the place of the one before", async (_, first, second) => {
    const scene = await begin();
    const start = scene.now();
    scene.driver.arm(start + scene.pauseMs / first);
    scene.driver.arm(start + scene.pauseMs / second);
    const at = start + scene.pauseMs / second;
    expect(await wakesDuring(scene, () => scene.passTo(at - 1))).toBe(0);
    expect(await wakesDuring(scene, () => scene.passTo(at))).toBe(1);
  });

  test("wakes at once for what is due already", async () => {
    const scene = await begin();
    scene.driver.arm(scene.now() - 1_000);
    expect(await wakesDuring(scene, () => scene.passTo(scene.now() + 1))).toBe(1);
  });

  test.each([
    ["nothing is due", () => null],
    ["the next instant is far away", (now: number) => now + 400 * 24 * 3_600_000],
  ])("looks after its longest pause where %s", async (_, next) => {
    const scene = await begin();
    const start = scene.now();
    scene.driver.arm(next(start));
    expect(await wakesDuring(scene, () => scene.passTo(start + scene.pauseMs - 1))).toBe(0);
    expect(await wakesDuring(scene, () => scene.passTo(start + scene.pauseMs))).toBe(1);
  });
}

function describeBell(begin: Begin): void {
  test("wakes when it is rung", async () => {
    const scene = await begin();
    const rung = await wakesDuring(scene, async () => {
      scene.driver.ring();
      await scene.passTo(scene.now() + 1);
    });
    expect(rung).toBe(1);
  });

  test("many rings while it is awake are one more call, which begins after they rang", async () => {
    const scene = await begin();
    scene.lasting.isOn = true;
    scene.driver.ring();
    await scene.passTo(scene.now() + 1);
    const more = await wakesDuring(scene, async () => {
      for (let rings = 0; rings < 5; rings += 1) scene.driver.ring();
      await scene.passTo(scene.now() + 1);
      expect(scene.woken.at(-1)).toBe(scene.now() - 2);
      scene.lasting.isOn = false;
      scene.lasting.finish();
      await scene.passTo(scene.now() + 1);
    });
    expect(more).toBe(1);
  });

  test("never wakes twice at the same time, whatever comes together", async () => {
    const scene = await begin();
    scene.lasting.isOn = true;
    scene.driver.ring();
    scene.driver.arm(scene.now() + 1);
    scene.commitElsewhere();
    await scene.passTo(scene.now() + scene.hearMs);
    scene.driver.arm(scene.now() - 1);
    scene.driver.ring();
    await scene.passTo(scene.now() + scene.pauseMs);
    expect(scene.lasting.most).toBe(1);
    scene.lasting.isOn = false;
    scene.lasting.finish();
    await scene.passTo(scene.now() + 1);
    expect(scene.lasting.most).toBe(1);
  });

  test("hears of what another process committed, once", async () => {
    const scene = await begin();
    scene.driver.arm(null);
    scene.commitElsewhere();
    const hearing = [scene.now() + scene.hearMs, scene.now() + 3 * scene.hearMs];
    const heard: number[] = [];
    for (const at of hearing) heard.push(await wakesDuring(scene, () => scene.passTo(at)));
    expect(heard).toEqual([1, 0]);
  });
}

function describeEnd(begin: Begin): void {
  test("does not wake any more once it is stopped", async () => {
    const scene = await begin();
    scene.driver.arm(scene.now() + 1);
    await scene.driver.stop();
    scene.driver.ring();
    scene.driver.arm(scene.now() + 1);
    scene.commitElsewhere();
    const later = scene.now() + 2 * scene.pauseMs;
    expect(await wakesDuring(scene, () => scene.passTo(later))).toBe(0);
  });

  test("is stopped only when the call that runs has ended", async () => {
    const scene = await begin();
    scene.lasting.isOn = true;
    scene.driver.ring();
    scene.driver.ring();
    await scene.passTo(scene.now() + 1);
    let isStopped = false;
    const stopping = scene.driver.stop().then(() => (isStopped = true));
    await scene.passTo(scene.now() + scene.pauseMs);
    expect(isStopped).toBe(false);
    const more = await wakesDuring(scene, async () => {
      scene.lasting.finish();
      await stopping;
    });
    expect(more).toBe(0);
  });
}
