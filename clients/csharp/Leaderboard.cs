// Client of a leaderboard of Tessera for game servers and Unity: C# 6, no packages. Answers are the JSON text of the API.
// Every post has an event id, so a post that is sent again counts once. Only game servers have a token.
using System;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading.Tasks;

namespace Tessera
{
    public sealed class LeaderboardException : Exception
    {
        // HTTP status of the answer.
        public readonly int Status;
        public LeaderboardException(int status, string body) : base(body) { Status = status; }
    }

    public sealed class Leaderboard
    {
        static readonly HttpClient Http = new HttpClient { Timeout = TimeSpan.FromSeconds(15) };
        static readonly Random Chance = new Random();
        readonly string address;
        readonly string token;
        readonly int attempts;

        // url: origin of the deployment. token: with the scope scores:write; null for reads.
        public Leaderboard(string url, string board = "default", string token = null, int attempts = 8)
        {
            var path = board == "default" ? "/v1" : "/v1/boards/" + Uri.EscapeDataString(board);
            address = url.TrimEnd('/') + path;
            this.token = token;
            this.attempts = attempts;
        }

        public Task<string> Post(string userId, long points, string userName = null, string eventId = null)
        {
            var body = "{\"user_id\":" + Quote(userId) + ",\"points\":" + points
                + (userName == null ? "" : ",\"user_name\":" + Quote(userName))
                + ",\"event_id\":" + Quote(eventId ?? Guid.NewGuid().ToString()) + "}";
            return Send(HttpMethod.Post, "/scores", body);
        }

        public Task<string> Top(int limit = 10) { return Send(HttpMethod.Get, "/scores?limit=" + limit, null); }

        public Task<string> Player(string userId) { return Send(HttpMethod.Get, "/scores/" + Uri.EscapeDataString(userId), null); }

        async Task<string> Send(HttpMethod method, string path, string body)
        {
            for (var attempt = 1; ; attempt++)
            {
                var pause = TimeSpan.Zero;
                try
                {
                    var request = new HttpRequestMessage(method, address + path);
                    if (token != null) request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
                    if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
                    using (var answer = await Http.SendAsync(request))
                    {
                        var text = await answer.Content.ReadAsStringAsync();
                        if (answer.IsSuccessStatusCode) return text;
                        var status = (int)answer.StatusCode;
                        var isRetried = status == 408 || status == 429 || status >= 500;
                        if (!isRetried || attempt == attempts) throw new LeaderboardException(status, text);
                        var after = answer.Headers.RetryAfter;
                        if (after != null && after.Delta.HasValue) pause = after.Delta.Value;
                    }
                }
                catch (HttpRequestException) { if (attempt == attempts) throw; }
                catch (TaskCanceledException) { if (attempt == attempts) throw; }
                var backoff = Math.Min(30000, 250 * Math.Pow(2, attempt)) * (0.5 + Chance.NextDouble() / 2);
                await Task.Delay(pause + TimeSpan.FromMilliseconds(backoff));
            }
        }

        static string Quote(string text)
        {
            var json = new StringBuilder("\"");
            foreach (var c in text)
                if (c < ' ' || c == '"' || c == '\\') json.AppendFormat("\\u{0:x4}", (int)c);
                else json.Append(c);
            return json.Append('"').ToString();
        }
    }
}
