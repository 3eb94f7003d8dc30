// Small comforts for pages that work without them. Text is set as text, never as markup.
"use strict";

// Adds new calls to the page of calls while it is looked at.
function followCalls(rows) {
  const PAUSE = 1500;
  const MOST_ROWS = 200;

  function add(call) {
    const row = document.createElement("tr");
    row.className = call.is_ok ? "new" : "new failed";
    const when = document.createElement("td");
    const time = document.createElement("time");
    time.dateTime = new Date().toISOString();
    time.textContent = "just now";
    when.append(time);
    row.append(when);
    call.cells.forEach((text, index) => {
      const cell = document.createElement("td");
      if (index > 2) cell.className = "number";
      if (index === 1) {
        const code = document.createElement("code");
        code.textContent = text;
        cell.append(code);
      } else {
        cell.textContent = text;
      }
      row.append(cell);
    });
    rows.prepend(row);
    while (rows.rows.length > MOST_ROWS) rows.deleteRow(-1);
    rows.dataset.last = String(call.number);
  }

  async function look() {
    if (document.visibilityState === "visible") {
      try {
        const answer = await fetch("/calls?after=" + encodeURIComponent(rows.dataset.last));
        if (answer.ok) (await answer.json()).calls.forEach(add);
      } catch {
        // The server has stopped, or is starting again.
      }
    }
    setTimeout(look, PAUSE);
  }
  setTimeout(look, PAUSE);
}

// Shows times in the zone of the person, who can hover over an age to see it.
function localTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const exact = new Date(time.dateTime);
    if (!Number.isNaN(exact.getTime())) time.title = exact.toLocaleString();
  }
}

const calls = document.getElementById("calls");
if (calls) followCalls(calls);
localTimes();
