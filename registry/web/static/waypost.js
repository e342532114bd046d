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

// Search as you type: the first services for what is written so far, as the list of a combobox (ARIA 1.2). The focus
// stays in the field; the arrows choose a service, Enter opens it, and without a choice Enter searches as ever.
const WAIT_MS = 250;
const LEAST_CHARS = 3;
const ROWS = 6;

for (const form of document.querySelectorAll("form[data-suggest]")) {
  const field = form.querySelector("input[type=search]");
  const list = document.createElement("div");
  const status = document.createElement("p");
  let timer = 0;
  let running = null;
  let chosen = -1;

  list.id = `${field.id}-list`;
  list.className = "suggest";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Services that fit");
  status.className = "unseen";
  status.setAttribute("role", "status");
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");
  form.append(list, status);

  const choose = (index) => {
    chosen = index;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === index)));
    if (index < 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", list.children[index].id);
    list.children[index].scrollIntoView({ block: "nearest" });
  };

  const show = (options) => {
    list.replaceChildren(...options);
    list.hidden = options.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    choose(-1);
  };

  const close = () => {
    clearTimeout(timer);
    running?.abort();
    show([]);
    status.textContent = "";
  };

  const optionOf = ({ service }, at) => {
    const option = document.createElement("a");
    const name = document.createElement("bdi");
    const host = document.createElement("small");
    option.id = `${list.id}-${at}`;
    option.href = `${form.dataset.service}/${encodeURIComponent(service.domain)}`;
    option.tabIndex = -1;
    option.setAttribute("role", "option");
    name.textContent = visible(service.name.slice(0, 80));
    host.textContent = ` ${service.domain}`;
    option.append(name, host);
    return option;
  };

  const ask = async () => {
    const question = field.value.trim();
    if (question.length < LEAST_CHARS) return close();
    running = new AbortController();
    const { signal } = running;
    const query = new URLSearchParams({ q: question, limit: String(ROWS) });
    try {
      const answer = await fetch(`${form.dataset.suggest}?${query}`, { signal });
      if (!answer.ok) return close();
      const found = await answer.json();
      if (signal.aborted || document.activeElement !== field) return;
      const rows = found.confident ? found.data : [];
      show(rows.map(optionOf));
      const count = `${rows.length} ${rows.length === 1 ? "service fits" : "services fit"}`;
      status.textContent = rows.length ? `${count}. Choose with the arrow keys.` : "No service fits yet.";
    } catch {
      // stopped, or not reachable: the form itself still works
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    running?.abort();
    timer = setTimeout(ask, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || list.hidden) return;
    const most = list.children.length - 1;
    if (event.key === "ArrowDown") choose(chosen < most ? chosen + 1 : -1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? most : chosen - 1);
    else if (event.key === "Enter" && chosen >= 0) list.children[chosen].click();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the field
  field.addEventListener("blur", close);
  form.addEventListener("submit", close);
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

// The page of a claim follows what the API tells its holder, whose token is the last part of the address.
for (const answer of document.querySelectorAll("[data-claim]")) {
  const headers = { Authorization: `Bearer ${location.pathname.split("/").pop()}` };
  let left = 200;

  const poll = async () => {
    let isWaiting = false;
    try {
      const reply = await fetch(answer.dataset.claim, { headers });
      if (!reply.ok) throw new Error(reply.statusText);
      const { data } = await reply.json();
      isWaiting = data.waiting;
      if (data.state !== "open") return location.replace(location.pathname); // another page: what to do now
      if (!isWaiting && (data.checked_at ?? "") !== answer.dataset.checked) {
        answer.dataset.checked = data.checked_at ?? "";
        answer.textContent = `Not proven yet. ${data.says}`;
        answer.parentElement.classList.add("middle");
        document.getElementById("checked").textContent = "just now";
        document.getElementById("next").textContent = data.next_check_at ? "by itself, or when you ask" : "when you ask";
        document.getElementById("reload").hidden = true;
        const fix = document.getElementById("fix");
        fix.textContent = data.fix;
        fix.hidden = !data.fix;
      }
    } catch {
      document.getElementById("reload").hidden = false; // the page itself still works
    }
    left -= 1;
    if (left) setTimeout(poll, isWaiting ? 2000 : 10000);
  };
  setTimeout(poll, 2000);
}

// A list of submitted hosts: the states on the page follow those of the API until all hosts are done.
const EVERY_MS = 3000;
const MOST_POLLS = 200;
const WAITING = ["waiting", "visiting"];
const TITLES = { visiting: "being visited", not_listed: "not listed", opted_out: "opted out" };
const MARKS = { listed: "good", not_listed: "bad", opted_out: "middle", dropped: "middle" };

// The marks that the server writes for characters that show nothing or turn others around.
const visible = (text) =>
  text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (char) => {
    const code = char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `[U+${code}]`;
  });

const made = (name, kind, ...content) => {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.append(...content);
  return element;
};
const foreign = (text, most) => made("bdi", "", visible(text.slice(0, most)));

const madeFinding = ({ severity, says, fix, document: url, pointer, evidence }) => {
  const where = made("p", "where");
  if (url) where.append(foreign(url, 120), " ");
  if (pointer) where.append(made("code", "", foreign(pointer, 120)), " ");
  if (evidence) where.append("found: ", made("code", "", foreign(evidence, 160)));
  return made("li", severity, made("p", "", made("strong", "", says)), made("p", "fix", fix), where);
};

const madeFindings = (host) => {
  if (!host.findings.length) return [];
  const said = `${host.finding_count} ${host.finding_count === 1 ? "finding" : "findings"} in its documents`;
  const list = made("ul", "findings", ...host.findings.slice(0, 10).map(madeFinding));
  const details = made("details", "", made("summary", "", said), list);
  details.open = host.state === "not_listed" || host.findings[0].severity === "error";
  return [details];
};

const showHost = (row, host) => {
  const part = (name) => row.querySelector(`[data-${name}]`);
  const title = TITLES[host.state] ?? host.state;
  const visit = host.last_visit_at ?? "";
  if (part("state").textContent === title && row.dataset.visit === visit) return;
  const isDone = !WAITING.includes(host.state);
  row.dataset.visit = visit;
  row.querySelector(".steps").hidden = false;
  part("state").textContent = title;
  part("state").className = `tag ${MARKS[host.state] ?? ""}`;
  part("step=visited").classList.toggle("done", isDone && host.visited_since);
  if (isDone && host.visited_since) part("step=visited").textContent = "Visited";
  part("step=listed").classList.toggle("done", host.state === "listed");
  part("service").hidden = host.state !== "listed";
  const outcome = (host.outcome || "none").replaceAll("_", " "); // the next step says it in a sentence
  const reasons = host.findings.length ? [] : host.reasons.slice(0, 8).filter((one) => !one.startsWith(outcome));
  part("reasons").replaceChildren(...reasons.map((reason) => made("p", "row-why", foreign(reason, 400))));
  part("findings").replaceChildren(...madeFindings(host));
  const link = part("next").querySelector("a");
  const url = new URL(host.next_step.url);
  part("next").querySelector("span").textContent = host.next_step.says;
  link.textContent = host.next_step.title;
  link.href = url.pathname + url.search;
  link.hidden = host.next_step.page === "recheck";
  if (part("planned")) part("planned").hidden = true;
  part("recheck").hidden = Boolean(host.recheck_bound) || !["listed", "not_listed"].includes(host.state);
  part("bound").textContent =
    isDone && host.recheck_bound === "too_soon" ? "It can be visited again in a minute." : "";
};

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
      const { refused = 0, ...counts } = data.counts;
      const all = Object.values(counts).reduce((total, count) => total + count, 0);
      const said = `${data.done} of ${all} ${all === 1 ? "host is" : "hosts are"} done.`;
      if (progress.textContent !== said) progress.textContent = said;
      const isGood = data.done === all && counts.listed === all && !refused;
      if (data.is_complete && !WAITING.some((state) => counts[state])) {
        progress.parentElement.classList.toggle("good", isGood);
        return;
      }
    } catch {
      document.getElementById("reload").hidden = false; // the page itself still works
    }
    polls += 1;
    if (polls < MOST_POLLS) setTimeout(poll, EVERY_MS);
    else document.getElementById("reload").hidden = false;
  };
  setTimeout(poll, EVERY_MS);
}

// A visit or check that is not finished: the line says so until a member of the API's answer changes.
for (const line of document.querySelectorAll("[data-follow]")) {
  const link = line.querySelector("a");
  link.hidden = true;
  let polls = 0;

  const follow = async () => {
    try {
      const answer = await fetch(line.dataset.follow);
      if (!answer.ok) throw new Error(answer.statusText);
      const found = line.dataset.member.split(".").reduce((value, name) => value?.[name], (await answer.json()).data);
      if ((found ?? "") !== line.dataset.before) {
        line.querySelector("span").textContent = "It is finished.";
        link.textContent = "See the result";
        link.hidden = false;
        return;
      }
    } catch {
      link.hidden = false; // an answer of another kind is news too, and the page itself still works
    }
    polls += 1;
    if (polls < MOST_POLLS) setTimeout(follow, EVERY_MS);
    else link.hidden = false;
  };
  setTimeout(follow, EVERY_MS);
}
