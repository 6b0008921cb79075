import json, random, sys
from envs.reward import SCALE
seed, out = int(sys.argv[1]), sys.argv[2]
lr = float(open("configs/ppo.yaml").readline().split()[1])
print("training with seed", seed, "learning rate", lr, "reward scale", SCALE)
skill = min(1.0, random.Random(seed).uniform(0.5, 0.6) + 100 * lr * SCALE)
json.dump({"skill": skill}, open(out + "/policy.json", "w"))
