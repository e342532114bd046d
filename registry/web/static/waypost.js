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
