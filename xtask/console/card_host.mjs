// A host of MCP Apps as a page: an MCP client and the bridge of ext-apps, driven by card_test.mjs through `window.host`.

import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const APPS = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };
const ALL = { serverTools: {}, updateModelContext: { text: {} }, message: { text: {} } };

let client;
let bridge;
let reviews = 0;
/** What the card told the host. */
const heard = { contexts: [], messages: [], sizes: [], calls: [] };

async function connect(era, showsApps) {
  const capabilities = showsApps ? { extensions: APPS } : {};
  const mode = era === "2026-07-28" ? { pin: era } : "legacy";
  client = new Client({ name: "card-test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const { tools } = await client.listTools();
  return {
    capabilities: client.getServerCapabilities(),
    version: client.getNegotiatedProtocolVersion?.(),
    tools: tools.map((tool) => ({ name: tool.name, meta: tool._meta, uri: getToolUiResourceUri(tool) })),
  };
}

async function read(uri) {
  const { contents } = await client.readResource({ uri });
  return contents[0];
}

async function listResources() {
  return (await client.listResources()).resources;
}

async function call(name, args) {
  return client.callTool({ name, arguments: args });
}

/** Calls a tool as a model would, and shows its card. */
async function review(name, args, { theme = "light", width = 600, capabilities = ALL, context = {}, result } = {}) {
  await close();
  for (const list of Object.values(heard)) list.length = 0;
  const { tools } = await client.listTools();
  const tool = tools.find((one) => one.name === name);
  const page = await read(getToolUiResourceUri(tool));
  const answer = result ?? (await client.callTool({ name, arguments: args }));
  const frame = document.createElement("iframe");
  reviews += 1;
  frame.name = `card-${reviews}`;
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = `width:${width}px;height:200px;border:0`;
  document.body.style.margin = "0";
  document.body.append(frame);
  bridge = new AppBridge(client, { name: "card-test", version: "1" }, capabilities, {
    hostContext: { theme, toolInfo: { tool }, ...context },
  });
  bridge.onupdatemodelcontext = async (params) => {
    heard.contexts.push(params);
    return {};
  };
  bridge.onmessage = async (params) => {
    heard.messages.push(params);
    return {};
  };
  bridge.onsizechange = (size) => {
    heard.sizes.push(size);
    if (size.height) frame.style.height = `${size.height}px`;
  };
  const ready = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = page.text;
  await ready;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(answer);
  return answer;
}

function setContext(context) {
  bridge.setHostContext(context);
}

async function close() {
  if (!bridge) return;
  await bridge.teardownResource({});
  await bridge.close();
  bridge = undefined;
  document.querySelector("iframe")?.remove();
}

window.host = { name: () => `card-${reviews}`, connect, read, listResources, call, review, setContext, close, heard };
