"""A person with a browser: signs in to the console, and decides what agents may do."""

import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urljoin

import httpx

from tests.console.console_client import hidden_fields

_BROWSER = {"User-Agent": "mozilla/5.0", "Sec-Fetch-Site": "same-origin"}


@dataclass
class Person:
    """Somebody who has a password. The browser starts without a session."""

    console: str
    email: str
    password: str
    http: httpx.Client = field(default_factory=lambda: httpx.Client(headers=_BROWSER, timeout=60))

    def answer(self, url: str, *, allow: bool = True) -> str:
        """Opens the address that an agent shows, signs in if asked, and decides; returns where the agent waits."""
        shown = self._read(url)
        if shown.url.path == "/console/sign-in":
            shown = self._send(shown, "/sign-in/user", email=self.email, password=self.password)
        if 'action="/console/consent"' in shown.text:
            shown = self._send(shown, "/consent", action="allow" if allow else "deny")
        link = re.search(r'<a rel="noopener" href="([^"]*)">', shown.text)
        assert link is not None, shown.text
        return unescape(link[1])

    def is_asked(self, url: str) -> bool:
        """Returns whether the address that an agent shows asks the person, who is signed in, for a decision."""
        return 'action="/console/consent"' in self._read(url).text

    def revoke_agents(self) -> None:
        """Revokes the first agent of the list in the console."""
        self._send(self._read(f"{self.console}/console/agents"), "/agents/revoke")

    def _send(self, shown: httpx.Response, path: str, /, **fields: str) -> httpx.Response:
        sent = {**hidden_fields(shown.text, path), **fields}
        return self._followed(self.http.post(f"{self.console}/console{path}", data=sent))

    def _read(self, url: str) -> httpx.Response:
        return self._followed(self.http.get(url))

    def _followed(self, answer: httpx.Response) -> httpx.Response:
        while answer.is_redirect:
            answer = self.http.get(urljoin(str(answer.url), answer.headers["location"]))
        assert answer.status_code == 200, f"{answer.url} {answer.status_code} {answer.text}"
        return answer
