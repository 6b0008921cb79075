import json, random, sys
policy, seed, out = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
wins = [random.Random(seed * 1000 + episode).random() < policy["skill"] for episode in range(20)]
json.dump({"success": sum(wins) / len(wins)}, open(out + "/scores.json", "w"))
