// Small improvements. Every page also works without this file.
const all = (selector, root = document) => root.querySelectorAll(selector);

// A link that signs in: the form is sent at once; without a script there is its button.
for (const form of all('form[data-send-at-once]')) form.requestSubmit();

// What cannot be undone is asked once more: <form data-confirm="…">.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// <button data-copy="id of an element" data-copied="Copied" hidden><span>Copy</span>; without an id, the address of the page.
function offerCopies(root) {
  for (const button of all('button[data-copy]', root)) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const text = button.dataset.copy ? document.getElementById(button.dataset.copy).textContent.trim() : location.href;
      await navigator.clipboard.writeText(text);
      button.querySelector('span').textContent = button.dataset.copied;
    });
  }
}

// <input type="file" data-largest="bytes" data-too-large="what to do">: said before a large file is sent.
for (const input of all('input[data-largest]')) {
  input.addEventListener('change', () => {
    const isLarge = Array.from(input.files).some((file) => file.size > Number(input.dataset.largest));
    input.setCustomValidity(isLarge ? input.dataset.tooLarge : '');
    input.reportValidity();
  });
}

// On a phone a row of a wide table is a block: each cell gets the name of its column, and empty ones are left out.
function nameCells(root) {
  for (const table of all('.scroll table', root)) {
    const names = Array.from(all('thead th', table), (one) => one.textContent.trim());
    if (names.length < 3) continue;
    table.classList.add('rows');
    for (const cell of all('tbody td', table)) {
      cell.dataset.column = names[cell.cellIndex];
      cell.classList.toggle('blank', !cell.childElementCount && !cell.textContent.trim());
    }
  }
}

// "5 minutes ago"; the title is the time of the reader. Without scripts a time is in UTC, as in logs.
const language = document.documentElement.lang;
const ago = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
function writeTimes(root) {
  for (const time of all('time[datetime]', root)) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.valueOf())) continue;
    const isDay = time.dateTime.length === 10;
    const seconds = (date - Date.now()) / 1000;
    const [unit, size] = units.find(([name, one]) => (isDay ? name === 'day' : Math.abs(seconds) >= one)) ?? units[3];
    time.title = isDay ? time.dateTime : date.toLocaleString(language);
    time.textContent = ago.format(isDay ? Math.ceil(seconds / size) : Math.round(seconds / size), unit);
  }
}

// A day of a chart says its numbers while the pointer or the focus is on it: <a data-tip="…"> in a figure with a `.tip`.
function showTips(root) {
  for (const day of all('[data-tip]', root)) {
    const figure = day.closest('figure');
    const tip = figure.querySelector('.tip');
    const show = () => {
      tip.textContent = day.dataset.tip;
      tip.hidden = false;
      const left = day.getBoundingClientRect().right - figure.getBoundingClientRect().left + 6;
      const isFar = left + tip.offsetWidth > figure.clientWidth;
      tip.style.left = `${isFar ? Math.max(0, left - tip.offsetWidth - 40) : left}px`;
    };
    for (const name of ['pointerenter', 'focus']) day.addEventListener(name, show);
    for (const name of ['pointerleave', 'blur']) day.addEventListener(name, () => (tip.hidden = true));
  }
}

function prepare(root) {
  offerCopies(root);
  nameCells(root);
  writeTimes(root);
  showTips(root);
}
prepare(document);

// <section data-live="address">: what the address answers takes the place of the elements with the same `data-part`, every
// three seconds while somebody looks; when nothing changes, less and less often.
for (const part of all('[data-live]')) {
  let seconds = 3;
  let last = '';
  const look = async () => {
    const answer = document.hidden ? null : await fetch(part.dataset.live).catch(() => null);
    const text = answer?.ok && !answer.redirected ? await answer.text() : last;
    seconds = text === last ? Math.min(30, seconds * 1.3) : 3;
    if (text !== last) {
      const read = new DOMParser().parseFromString(text, 'text/html');
      for (const one of all('[data-part]', read)) {
        const old = document.querySelector(`[data-part=${one.dataset.part}]`);
        if (old && !old.contains(document.activeElement)) {
          old.replaceWith(one);
          prepare(one);
        }
      }
      last = text;
    }
    setTimeout(look, seconds * 1000);
  };
  setTimeout(look, seconds * 1000);
}

// The keyboard: / is the question, j and k go through the results, ⌘K or Ctrl-K opens what leads to every page.
const jump = document.getElementById('jump');
document.addEventListener('keydown', (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key === 'k' && jump) {
    event.preventDefault();
    jump.togglePopover();
  }
  if (event.target.closest('input, textarea, select') || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === '/') {
    const field = document.querySelector('main .ask input');
    if (field) event.preventDefault();
    field?.focus();
    field?.select();
  }
  const results = Array.from(all('.results a'));
  const step = { j: 1, k: -1 }[event.key];
  if (!step || !results.length) return;
  const here = results.findIndex((one) => one.hasAttribute('aria-current'));
  results[Math.min(results.length - 1, Math.max(0, here + step))].click();
});
jump?.querySelector('input').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase();
  for (const entry of all('li', jump)) entry.hidden = !entry.textContent.toLowerCase().includes(words);
});

// The result that the inspector shows.
function markResult() {
  const links = Array.from(all('.results a'));
  const shown = links.find((one) => one.hash === location.hash) ?? links[0];
  for (const one of links) one.toggleAttribute('aria-current', one === shown);
  shown?.scrollIntoView({ block: 'nearest' });
}
markResult();
window.addEventListener('hashchange', markResult);

// Several files, or a folder that is dropped: each is sent by itself, with the path below the chosen folder.
async function filesOf(entry, path = '') {
  if (entry.isFile) return [[path, await new Promise((take, fail) => entry.file(take, fail))]];
  const reader = entry.createReader();
  const files = [];
  for (let some; (some = await new Promise((take, fail) => reader.readEntries(take, fail))).length; )
    for (const one of some) files.push(...(await filesOf(one, `${path}/${entry.name}`)));
  return files;
}
async function send(form, files, status) {
  const usable = files.filter(([, file]) => /\.(html?|yml)$/i.test(file.name));
  let failed = files.length - usable.length;
  for (const [place, [path, file]] of usable.entries()) {
    status.textContent = `${place + 1} / ${usable.length}  ${file.name}`;
    const fields = new FormData(form);
    fields.set('folder', `${fields.get('folder') ?? ''}${path}`);
    fields.set('document', file);
    if (!(await fetch(form.action, { method: 'POST', body: fields })).ok) failed += 1;
  }
  if (failed) status.textContent = `${status.dataset.failed} ${failed}`;
  else location.assign(status.dataset.next);
}
for (const form of all('form[data-many]')) {
  const status = form.querySelector('[role=status]');
  form.addEventListener('submit', (event) => {
    const { files } = form.elements.document;
    if (files.length < 2) return;
    event.preventDefault();
    send(form, Array.from(files, (file) => ['', file]), status);
  });
  for (const zone of all('[data-drop]')) {
    zone.addEventListener('dragover', (event) => event.preventDefault());
    for (const name of ['dragenter', 'dragleave', 'drop']) zone.addEventListener(name, () => zone.classList.toggle('over', name === 'dragenter'));
    zone.addEventListener('drop', async (event) => {
      event.preventDefault();
      const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry()).filter(Boolean);
      const lists = await Promise.all(entries.map((entry) => filesOf(entry)));
      send(form, lists.flat(), zone.querySelector('[role=status]') ?? status);
    });
  }
}
