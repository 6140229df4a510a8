// The GitHub adapter keeps the port's contract (spec 6.1), over HTTP against the fake GitHub.

import { describeNetworkForge } from "../../../contract/forge-network.ts";
import { describeForge } from "../../../contract/forge.ts";
import { makeHarness } from "./harness.ts";

describeForge("github", makeHarness);
describeNetworkForge("github", makeHarness);
