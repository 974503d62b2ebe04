// Posts a score, posts it again, and prints both answers and the top list. Arguments: URL, board, token.
using System;
using Tessera;

static class Example
{
    static void Main(string[] args)
    {
        var board = new Leaderboard(args[0], args[1], args[2]);
        Console.WriteLine(board.Post("grace", 1200, "Grace \"G\" Hopper", "race-1").Result);
        Console.WriteLine(board.Post("grace", 1200, null, "race-1").Result);
        Console.WriteLine(board.Top(3).Result);
    }
}
