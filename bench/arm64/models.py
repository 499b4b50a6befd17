"""The models: cases of `./dev bench zoo`. Eight that Tern's kernels were tuned with, and ten others."""
from itertools import product

FORMS = ("float32", "bfloat16", "int8")
EIGHT = ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "vit_b_16", "minilm", "gpt2", "llama_prefill", "llama_decode")
OTHERS = ("torchvision.shufflenet_v2_x0_5.b1.s224", "torchvision.squeezenet1_1.b1.s224", "torchvision.mnasnet0_5.b1.s224",
          "torchvision.regnet_y_400mf.b1.s224", "torchvision.convnext_tiny.b1.s224", "transformers.bert.b1.t128",
          "transformers.qwen3.b1.t32", "transformers.gpt_neox.b1.t128", "transformers.vit.b1.t32", "transformers.mamba.b1.t32")
MODELS = tuple(f"{name}.{form}" for name, form in product([f"eight.{n}.b1.full" for n in EIGHT] + list(OTHERS), FORMS))
# A minute or two each.
QUICK = tuple(f"operator.linear_197x384x1536.b1.full.{form}" for form in ("float32", "bfloat16")) + \
    ("eight.minilm.b1.full.float32", "eight.mobilenet_v3_large.b1.full.float32")
