// The search box of the site asks a public library of Sakuin. Without an answer what the theme found stays.
const PAUSE_MS = 350;
const LONGEST_MS = 4000;
const [LEAST, MOST] = [2, 1000]; // characters of a question

const address = document.querySelector('meta[name="sakuin-search"]').content;
const root = new URL('.', document.currentScript.src);
const query = document.querySelector('[data-md-component="search-query"]');
const box = document.querySelector('[data-md-component="search-result"]');
const status = element('div', 'md-search-result__article md-typeset');
const list = element('ol', 'md-search-result__list');
status.setAttribute('role', 'status');
let timer;
let latest = 0;

function element(name, className, text = '') {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

// Shows the answer of Sakuin, or with null what the theme found.
function show(answer) {
  for (const child of box.children) child.hidden = (child === status || child === list) === (answer === null);
  list.replaceChildren(...(answer?.results ?? []).map(item));
  const count = answer?.results.length ?? 0;
  status.textContent = answer?.no_good_match ? 'No good match. Nearest:' : `${count} answers`;
}

function item({ url, title, section, excerpt }) {
  const link = element('a', 'md-search-result__link');
  const article = element('article', 'md-search-result__article md-typeset');
  const target = new URL(url.replace(/^\//, ''), root);
  if (/^https?:$/.test(target.protocol)) link.href = target;
  article.append(element('h2', '', title), element('p', '', [section, excerpt].filter(Boolean).join(' · ')));
  link.append(article);
  const result = element('li', 'md-search-result__item');
  result.append(link);
  return result;
}

async function answered(question) {
  const response = await fetch(`${address}/public/v1/search`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: question, top_k: 5, max_tokens: 0 }),
    signal: AbortSignal.timeout(LONGEST_MS),
  });
  return response.ok ? response.json() : null;
}

async function ask() {
  const number = ++latest;
  const question = query.value.trim().slice(0, MOST);
  const answer = question.length < LEAST ? null : await answered(question).catch(() => null);
  if (number === latest) show(answer);
}

box.prepend(status, list);
show(null);
query.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
});
