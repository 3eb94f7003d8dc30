// The card: receives a call and its answer from the host, shows them, and asks the person.
(() => {
  "use strict";
  const host = window.parent;
  const part = (id) => document.getElementById(id);
  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;
  const state = { capabilities: {}, tool: undefined, input: undefined, answer: undefined };

  // Messages are JSON-RPC, over postMessage.
  const waiting = new Map();
  let lastId = 0;
  let isReady = false;
  const send = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      send({ id: lastId, method, params });
    });

  const notifications = {
    "ui/notifications/tool-input": (params) => {
      state.input = params.arguments ?? {};
    },
    "ui/notifications/tool-result": (params) => show(params),
    "ui/notifications/tool-cancelled": () => {
      title("The call was cancelled");
    },
    "ui/notifications/host-context-changed": (params) => adapt(params),
  };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== host || typeof data !== "object" || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) {
      const { resolve, reject } = waiting.get(data.id) ?? {};
      waiting.delete(data.id);
      if (data.error) reject?.(new Error(String(data.error.message ?? "")));
      else resolve?.(data.result ?? {});
    } else if (data.id === undefined) {
      notifications[data.method]?.(data.params ?? {});
    } else if (data.method === "ui/resource-teardown" || data.method === "ping") {
      send({ id: data.id, result: {} });
    } else {
      send({ id: data.id, error: { code: -32601, message: "Method not found" } });
    }
  });

  /** Takes over what the host says about its looks, and which tool was called. */
  function adapt(context) {
    const root = document.documentElement;
    if (context.theme === "light" || context.theme === "dark") root.style.colorScheme = context.theme;
    for (const name of ["--font-sans", "--font-mono"]) {
      const value = context.styles?.variables?.[name];
      if (typeof value === "string") root.style.setProperty(name, value);
    }
    state.tool = context.toolInfo?.tool?.name ?? state.tool;
  }

  function title(text) {
    part("title").textContent = text;
  }

  function fact(name, text) {
    const [term, value] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    value.textContent = text;
    part("facts").append(term, value);
    part("facts").hidden = false;
  }

  function outcome(text) {
    part("outcome").textContent = text;
  }

  function textOf(result) {
    const texts = (result.content ?? []).filter((block) => block.type === "text");
    return texts.map((block) => block.text).join("\n");
  }

  /** The fields of an answer. A host that does not pass them on as such passes on the same as text. */
  function fieldsOf(result) {
    if (result.structuredContent) return result.structuredContent;
    try {
      return JSON.parse(textOf(result));
    } catch {
      return {};
    }
  }

  const TITLES = {
    edit: ["Change this text?", "The text was changed"],
    rename: ["Rename or move this?", "Renamed or moved"],
    delete: ["Delete this?", "Deleted"],
  };

  function show(result) {
    if (result.isError) {
      title("The change was refused");
      outcome(textOf(result));
      return;
    }
    const answer = fieldsOf(result);
    const details = result._meta?.["sectile/change"];
    state.answer = answer;
    // The name that the server knows: a host may show tools under another one.
    state.tool = details?.tool ?? state.tool;
    const isPreview = typeof answer.plan === "string";
    const [question, statement] = TITLES[state.tool] ?? ["Make this change?", "The change was made"];
    const isUnchanged = (answer.notes ?? []).some((note) => note.startsWith("unchanged"));
    part("card").dataset.tool = state.tool ?? "";
    title(isPreview ? question : isUnchanged ? "Nothing changes" : statement);
    if (state.tool === "rename" && state.input?.id && state.input?.to) {
      fact("From", String(state.input.id));
      fact("To", String(state.input.to));
    } else {
      fact("Where", String(answer.id ?? ""));
    }
    part("merged").hidden = !answer.merged;
    showLinks(details ?? answer, answer.documents, isPreview);
    const change = details ?? { documents: answer.diff ? [{ id: answer.id, diff: answer.diff }] : [] };
    part("diff").replaceChildren(diffView(change));
    if (isPreview) offer(change);
    else if (answer.change !== undefined) outcome(`This is change ${answer.change}. It can be undone.`);
  }

  function showLinks(change, documents, isPreview) {
    const said = [];
    if (documents > 1) said.push(`${documents} documents ${isPreview ? "change" : "changed"}.`);
    if (change.repaired) {
      const verb = isPreview ? ["is", "are"] : ["was", "were"];
      said.push(`${count(change.repaired, `link ${verb[0]}`, `links ${verb[1]}`)} repaired.`);
    }
    part("summary").textContent = said.join(" ");
    part("summary").hidden = said.length === 0;
    const links = change.broken ?? [];
    const all = links.length + (change.broken_more ?? 0);
    part("broken").replaceChildren();
    part("broken").hidden = all === 0;
    if (all === 0) return;
    const lead = document.createElement("p");
    const when = isPreview ? "afterwards" : "now";
    lead.textContent = `${count(all, "link leads", "links lead")} nowhere ${when}:`;
    const list = document.createElement("ul");
    for (const link of links) {
      const entry = document.createElement("li");
      entry.textContent = link;
      list.append(entry);
    }
    if (all > links.length) {
      const entry = document.createElement("li");
      entry.textContent = `and ${all - links.length} more`;
      list.append(entry);
    }
    part("broken").append(lead, list);
  }

  /** Lets the person decide. */
  function offer(change) {
    if (!state.capabilities.serverTools || state.input === undefined || !state.tool) {
      outcome("Nothing was written. This host does not let a card apply a change; ask the assistant to do it.");
      return;
    }
    const unseen = change.documents.reduce((sum, one) => sum + (one.left_out ?? 0), change.more_lines ?? 0);
    const others = change.more_documents ?? 0;
    const said = [];
    if (unseen) said.push(count(unseen, "changed line", "changed lines"));
    if (others) said.push(count(others, "document", "documents"));
    part("unseen").textContent = `Not all of the change is shown: ${said.join(" and ")} left out.`;
    part("unseen").hidden = said.length === 0;
    part("choice").hidden = false;
  }

  function busy(isBusy) {
    for (const id of ["apply", "leave"]) {
      // A disabled button would lose the focus.
      part(id).setAttribute("aria-disabled", String(isBusy));
    }
    part("card").setAttribute("aria-busy", String(isBusy));
  }

  const isBusy = () => part("card").getAttribute("aria-busy") === "true";

  /** Ends the review with this text. */
  function end(text) {
    part("choice").hidden = true;
    outcome(text);
    part("outcome").focus();
  }

  /** Errors after which the same plan may still be applied. */
  const PASSING = ["busy:", "keeps_changing:", "cancelled:", "too_many_open_files:", "disk_full:"];

  async function apply() {
    if (isBusy()) return;
    busy(true);
    outcome("Applying");
    const { preview, dry_run, ...rest } = state.input;
    const call = { name: state.tool, arguments: { ...rest, plan: state.answer.plan } };
    let result;
    try {
      result = await request("tools/call", call);
    } catch (error) {
      busy(false);
      outcome(`The call failed: ${error.message}\nYou can try again: the change is never made twice.`);
      return;
    }
    busy(false);
    if (result.isError) {
      const text = textOf(result);
      if (PASSING.some((code) => text.startsWith(code))) outcome(text);
      else {
        title("The change was refused");
        end(text);
      }
      await tell(`The person approved the previewed change, but it was refused: ${text}`);
      return;
    }
    const answer = fieldsOf(result);
    title((TITLES[state.tool] ?? [])[1] ?? "The change was made");
    const notes = (answer.notes ?? []).map((note) => `\nNote: ${note}.`).join("");
    end(`Applied as change ${answer.change}. It can be undone.${notes}`);
    await tell(`The person approved the previewed ${state.tool} of ${JSON.stringify(answer.id)}. It was applied as change ${answer.change}; do not apply it again.`);
  }

  async function leave() {
    if (isBusy()) return;
    title("The change was declined");
    end("Nothing was written.");
    const isTold = await tell(`The person reviewed the previewed ${state.tool} of ${JSON.stringify(state.answer.id)} and declined it. Nothing was written. Do not make this change without asking.`);
    if (!isTold) outcome("Nothing was written. This host does not tell the assistant; you may want to.");
  }

  /** Tells the model what happened, and returns whether the host takes that. */
  async function tell(text) {
    const content = [{ type: "text", text }];
    try {
      if (state.capabilities.updateModelContext) await request("ui/update-model-context", { content });
      else if (state.capabilities.message) await request("ui/message", { role: "user", content });
      else return false;
      return true;
    } catch {
      return false;
    }
  }

  let sentSize = "";
  function tellSize() {
    const { width, height } = part("card").getBoundingClientRect();
    const size = { width: Math.ceil(width), height: Math.ceil(height) };
    if (!isReady || sentSize === JSON.stringify(size)) return;
    sentSize = JSON.stringify(size);
    send({ method: "ui/notifications/size-changed", params: size });
  }

  async function start() {
    part("apply").addEventListener("click", apply);
    part("leave").addEventListener("click", leave);
    const initialized = await request("ui/initialize", {
      appInfo: { name: "sectile-card", version: "1" },
      appCapabilities: {},
      protocolVersion: "2026-01-26",
    });
    state.capabilities = initialized.hostCapabilities ?? {};
    adapt(initialized.hostContext ?? {});
    send({ method: "ui/notifications/initialized", params: {} });
    isReady = true;
    new ResizeObserver(tellSize).observe(part("card"));
  }

  start().catch(() => title("The host does not show this card"));
})();
