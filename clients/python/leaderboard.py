"""Client of a leaderboard of Tessera for game servers. Python 3.9 or later, no packages.

Every post has an event id, so a post that is sent again counts once.
"""
import json, random, time, urllib.error, urllib.parse, urllib.request, uuid


class Leaderboard:
    def __init__(self, url, board="default", token=None, attempts=8, timeout=15):
        path = "/v1" if board == "default" else "/v1/boards/" + urllib.parse.quote(board)
        self.base, self.token, self.attempts, self.timeout = url.rstrip("/") + path, token, attempts, timeout

    def _send(self, path, body=None):
        headers = {"content-type": "application/json"} if body is not None else {}
        if self.token:
            headers["authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(1, self.attempts + 1):
            pause = min(30, 0.25 * 2 ** attempt) * random.uniform(0.5, 1)
            try:
                request = urllib.request.Request(self.base + path, data, headers)
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (408, 429, 500, 502, 503, 504) or attempt == self.attempts:
                    raise
                pause += int(error.headers.get("retry-after") or 0)
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                if attempt == self.attempts:
                    raise
            time.sleep(pause)

    def post(self, user_id, points, **more):
        return self._send("/scores", {"event_id": str(uuid.uuid4()), "user_id": user_id, "points": points, **more})

    def top(self, **query):
        return self._send("/scores?" + urllib.parse.urlencode(query))
