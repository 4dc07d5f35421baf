// Looks at the page in Chromium: every page of the samples, in both colours and at the width of a telephone, by the rules
// of accessibility of axe. Ends with the number of pages looked at, or with what is wrong and where.
//
//   node look.mjs PUMICE SAMPLES       (e2e/browser/run does)

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const [pumice, samples] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// All pages of these by the rules of accessibility; of the others the first page.
const THOROUGH = ["vgpu-mig", "queue-tree", "gang-too-large", "npu-hami", "network-topology", "numa-aware", "cpu-jobs", "fragmentation"];
const MOST_BYTES = 300_000;
const wrong = [];
let looked = 0;

function complain(where, what) {
  wrong.push(`${where}: ${what}`);
}

// The page of a sample, until it is ended.
async function serve(folder) {
  const flags = existsSync(join(folder, "flags")) ? readFileSync(join(folder, "flags"), "utf8").split(/\s+/).filter(Boolean) : [];
  if (flags.some((flag) => flag.startsWith("--trace") || flag.startsWith("--cycles"))) return null;
  const child = spawn(pumice, ["ui", "--no-open", "--listen", "0", ...flags, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`pumice ui ${folder} ended with ${code} before it said where the page is`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([once(child.stdout, "data"), ended]);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(String(line))[0];
  return { url, end: () => child.kill() };
}

async function first(url, list, of) {
  const answer = await fetch(`${url}/json${list}`);
  const rows = (await answer.json())[of] ?? [];
  return rows.length > 0 ? rows[0].name : null;
}

async function pagesOf(url) {
  const pages = ["/", "/queues", "/jobs", "/nodes", "/nodes?by=cards", "/nodes?by=fragmentation", "/nodes?by=health", "/topology", "/decisions", "/what-if"];
  const job = await first(url, "/jobs?show=waiting", "jobs");
  // One that runs, too: of a Job the pods of its tasks are told.
  const runs = await first(url, "/jobs?show=running", "jobs");
  const node = await first(url, "/nodes", "nodes");
  const queue = await first(url, "/queues", "queues");
  if (job) pages.push(`/jobs/${job}`, `/topology?job=${job}`);
  if (runs) pages.push(`/jobs/${runs}`);
  if (node) pages.push(`/nodes/${node}`);
  if (queue) pages.push(`/queues/${queue}`);
  return pages;
}

async function look(page, where, url, rules) {
  looked += 1;
  const answer = await page.goto(url);
  if (answer.status() !== 200) complain(where, `status ${answer.status()}`);
  // Also with larger letters: fonts differ from machine to machine, as do the names that stand there.
  for (const size of ["15px", "22px"]) {
    const wide = await page.evaluate((letters) => {
      document.body.style.fontSize = letters;
      return document.documentElement.scrollWidth - document.documentElement.clientWidth;
    }, size);
    if (wide > 0) complain(where, `${wide} pixels wider than the window with letters of ${size}`);
  }
  await page.evaluate(() => document.body.style.removeProperty("font-size"));
  if (!rules) return;
  // The policy of the page allows no script of others; the driver's own world is not bound by it.
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  for (const one of found.violations) {
    complain(where, `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 2).join(" | ")}`);
  }
}

async function sample(browser, name) {
  const served = await serve(join(samples, name));
  if (served === null) return;
  try {
    const thorough = THOROUGH.includes(name);
    const pages = thorough ? await pagesOf(served.url) : ["/"];
    for (const colorScheme of thorough ? ["light", "dark"] : ["light"]) {
      for (const [width, height] of thorough ? [[1280, 900], [360, 740]] : [[360, 740]]) {
        const context = await browser.newContext({ colorScheme, viewport: { width, height } });
        const page = await context.newPage();
        page.on("console", (message) => {
          if (message.type() === "error") complain(name, message.text());
        });
        page.on("pageerror", (error) => complain(name, String(error)));
        for (const path of pages) {
          for (const lang of thorough && width === 360 && colorScheme === "light" ? ["en", "zh"] : ["en"]) {
            const url = `${served.url}${path}${path.includes("?") ? "&" : "?"}lang=${lang}`;
            await look(page, `${name} ${path} ${colorScheme} ${width} ${lang}`, url, thorough && lang === "en");
          }
        }
        await context.close();
      }
    }
  } finally {
    served.end();
  }
}

// The keyboard leads from the address to the content, and a plan is made in place.
async function use(browser) {
  const served = await serve(join(samples, "gang-too-large"));
  try {
    const page = await browser.newPage();
    await page.goto(`${served.url}/jobs`);
    await page.keyboard.press("Tab");
    const skip = await page.evaluate(() => document.activeElement.getAttribute("href"));
    if (skip !== "#content") complain("keyboard", `the first stop is ${skip}`);
    await page.keyboard.press("Enter");
    const focus = await page.evaluate(() => document.activeElement.id);
    if (focus !== "content") complain("keyboard", `it leads to ${focus}`);
    await page.fill("#search", "simulation");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=simulation/);
    await page.goto(`${served.url}/what-if`);
    await page.fill("#manifests", "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}");
    await page.click("form.plan button");
    await page.waitForSelector("#plan h2");
    if (!/It runs now.*default\/alone/s.test(await page.textContent("#plan"))) complain("what if", await page.textContent("#plan"));
    if (!page.url().includes("/what-if")) complain("what if", "the page was left");
    looked += 1;
    await weigh(served.url);
  } finally {
    served.end();
  }
}

// A page with all that it loads, compressed.
async function weigh(url) {
  const html = await (await fetch(`${url}/`)).text();
  const loaded = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((found) => found[1]);
  if (loaded.length !== 4) complain("weight", `it loads ${loaded}`);
  let bytes = gzipSync(html).length;
  for (const path of loaded) bytes += gzipSync(await (await fetch(url + path)).text()).length;
  console.log(`a page with all assets, compressed: ${(bytes / 1000).toFixed(1)} kB`);
  if (bytes > MOST_BYTES) complain("weight", `${bytes} bytes`);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const name of readdirSync(samples).sort()) await sample(browser, name);
  await use(browser);
} finally {
  await browser.close();
}
for (const line of wrong) console.error(line);
console.log(`${looked} pages looked at, ${wrong.length} things wrong`);
process.exit(wrong.length === 0 ? 0 : 1);
