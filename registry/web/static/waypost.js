// Live parts of pages that work without them. Text enters the page as text only: nothing here parses markup.

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source || !navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

// Search as you type: the first services for what is written so far, as links below the field.
const WAIT_MS = 250;
const LEAST_CHARS = 3;
const ROWS = 6;

for (const form of document.querySelectorAll("form[data-suggest]")) {
  const field = form.querySelector("input[type=search]");
  const list = document.createElement("ul");
  const status = document.createElement("p");
  list.className = "suggest";
  list.hidden = true;
  list.setAttribute("aria-label", "Services that fit");
  status.className = "unseen";
  status.setAttribute("role", "status");
  form.append(list, status);
  let timer = 0;
  let running = null;

  const close = () => {
    list.hidden = true;
    list.replaceChildren();
  };

  const show = (rows) => {
    list.replaceChildren();
    for (const { service } of rows) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const name = document.createElement("bdi");
      const host = document.createElement("small");
      link.href = `${form.dataset.service}/${encodeURIComponent(service.domain)}`;
      name.textContent = service.name.slice(0, 80);
      host.textContent = ` ${service.domain}`;
      link.append(name, host);
      item.append(link);
      list.append(item);
    }
    list.hidden = rows.length === 0;
    status.textContent = rows.length ? `${rows.length} services fit, listed below the field` : "No service fits yet";
  };

  const ask = async () => {
    running?.abort();
    const question = field.value.trim();
    if (question.length < LEAST_CHARS) return close();
    running = new AbortController();
    const query = new URLSearchParams({ q: question, limit: String(ROWS) });
    try {
      const answer = await fetch(`${form.dataset.suggest}?${query}`, { signal: running.signal });
      if (!answer.ok) return close();
      const found = await answer.json();
      show(found.confident ? found.data : []);
    } catch {
      // stopped, or not reachable: the form itself still works
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      close();
      field.focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [field, ...list.querySelectorAll("a")];
    const next = stops[stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next && !list.hidden) {
      event.preventDefault();
      next.focus();
    }
  });
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget)) close();
  });
}

// A check of a site: the page loads again once the API has its result.
for (const waiting of document.querySelectorAll("[data-again]")) {
  let looks = 0;
  const look = async () => {
    try {
      const answer = await fetch(waiting.dataset.again);
      if (answer.ok && (await answer.json()).data.state === "done") return location.reload();
    } catch {
      // the link to look again still works
    }
    looks += 1;
    if (looks < 100) setTimeout(look, 3000);
  };
  setTimeout(look, 3000);
}

// A list of submitted hosts: the states on the page follow those of the API until all hosts are done.
const EVERY_MS = 3000;
const MOST_POLLS = 200;
const SETTLED = ["listed", "not_listed", "opted_out", "dropped"];
const TITLES = { visiting: "being visited", not_listed: "not listed", opted_out: "opted out" };
const MARKS = { listed: "good", not_listed: "bad", opted_out: "middle", dropped: "middle" };

const showHost = (row, host) => {
  const tag = row.querySelector("[data-state]");
  const title = TITLES[host.state] ?? host.state;
  if (tag.textContent === title) return;
  tag.textContent = title;
  tag.className = `tag ${MARKS[host.state] ?? ""}`;
  const isVisited = host.last_visit_at || host.state === "listed" || host.state === "not_listed";
  row.querySelector("[data-step=visited]").classList.toggle("done", Boolean(isVisited));
  row.querySelector("[data-step=listed]").classList.toggle("done", host.state === "listed");
  row.querySelector("[data-service]").hidden = host.state !== "listed";
  const reasons = host.reasons.slice(0, 8).map((reason) => {
    const line = document.createElement("p");
    const text = document.createElement("bdi");
    line.className = "row-why";
    text.textContent = visible(reason.slice(0, 400));
    line.append(text);
    return line;
  });
  row.querySelector("[data-reasons]").replaceChildren(...reasons);
};

// The marks that the server writes for characters that show nothing or turn others around.
const visible = (text) =>
  text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (char) => {
    const code = char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `[U+${code}]`;
  });

for (const progress of document.querySelectorAll("[data-live]")) {
  const rows = new Map([...document.querySelectorAll("[data-host]")].map((row) => [row.dataset.host, row]));
  document.getElementById("reload").hidden = true;
  let polls = 0;

  const poll = async () => {
    try {
      const answer = await fetch(progress.dataset.live);
      if (!answer.ok) throw new Error(answer.statusText);
      const { data } = await answer.json();
      for (const host of data.hosts) if (rows.has(host.domain)) showHost(rows.get(host.domain), host);
      const { refused: _, ...counts } = data.counts;
      const sum = (names) => names.reduce((total, name) => total + (counts[name] ?? 0), 0);
      const [done, all] = [sum(SETTLED), sum(Object.keys(counts))];
      const said = `${done} of ${all} ${all === 1 ? "host is" : "hosts are"} done.`;
      if (progress.textContent !== said) progress.textContent = said;
      if (data.is_complete && done === all) return progress.parentElement.classList.add("good");
    } catch {
      document.getElementById("reload").hidden = false; // the page itself still works
    }
    polls += 1;
    if (polls < MOST_POLLS) setTimeout(poll, EVERY_MS);
    else document.getElementById("reload").hidden = false;
  };
  setTimeout(poll, EVERY_MS);
}
