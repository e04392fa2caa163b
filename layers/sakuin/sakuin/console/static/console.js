// Small improvements. Every page also works without this file.

// A link that signs in: the form is sent at once; without a script there is its button.
for (const form of document.querySelectorAll('form[data-send-at-once]')) form.requestSubmit();

// On a phone the menu is a strip: shows the entry of this page. `scrollIntoView` would move where Tab begins.
const here = document.querySelector('.menu [aria-current]');
if (here) here.closest('.menu').scrollLeft = here.offsetLeft - 40;

// What cannot be undone is asked once more: <form data-confirm="…">.
document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// <button type="button" data-copy="id of an element" data-copied="Copied" hidden>
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = button.dataset.copied;
  });
}

// <input type="file" data-largest="bytes" data-too-large="what to do">: said before a large file is sent.
for (const input of document.querySelectorAll('input[data-largest]')) {
  input.addEventListener('change', () => {
    const [file] = input.files;
    input.setCustomValidity(file && file.size > Number(input.dataset.largest) ? input.dataset.tooLarge : '');
    input.reportValidity();
  });
}

// On a phone a row of a wide table is a block: each cell gets the name of its column, and empty ones are left out.
for (const table of document.querySelectorAll('.scroll table')) {
  const names = Array.from(table.querySelectorAll('thead th'), (one) => one.textContent.trim());
  if (names.length < 3) continue;
  table.classList.add('rows');
  for (const cell of table.querySelectorAll('tbody td')) {
    cell.dataset.column = names[cell.cellIndex];
    cell.classList.toggle('blank', !cell.childElementCount && !cell.textContent.trim());
  }
}

// "5 minutes ago"; the title is the time of the reader. Without scripts a time is in UTC, as in logs.
const ago = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' });
const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
for (const time of document.querySelectorAll('time[datetime]')) {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.valueOf())) continue;
  const isDay = time.dateTime.length === 10;
  const seconds = (date - Date.now()) / 1000;
  const [unit, size] = units.find(([name, one]) => (isDay ? name === 'day' : Math.abs(seconds) >= one)) ?? units[3];
  time.title = isDay ? time.dateTime : date.toLocaleString(document.documentElement.lang);
  time.textContent = ago.format(isDay ? Math.ceil(seconds / size) : Math.round(seconds / size), unit);
}
