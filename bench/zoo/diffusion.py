"""Networks of diffusers: denoisers and autoencoders; `length` is the side of the latent image."""
import diffusers
import torch
from torch import nn


class Denoiser(nn.Module):
    """Latents, time step and condition in, the first tensor out."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), return_dict=False)[0]


def _denoiser(model, **inputs):
    return Denoiser(model, tuple(inputs)), tuple(inputs.values())


def _time(batch):
    return torch.full((batch,), 10)


def unet(b, s):
    model = diffusers.UNet2DModel(sample_size=s, block_out_channels=(64, 128, 256), layers_per_block=2,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                                  up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))
    return _denoiser(model, sample=torch.randn(b, 3, s, s), timestep=_time(b))


def unet_text(b, s):
    model = diffusers.UNet2DConditionModel(sample_size=s, block_out_channels=(64, 128), layers_per_block=2,
                                           down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                           up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=256)
    return _denoiser(model, sample=torch.randn(b, 4, s, s), timestep=_time(b), encoder_hidden_states=torch.randn(b, 77, 256))


def dit(b, s):
    model = diffusers.DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, in_channels=4, num_layers=6,
                                            sample_size=s)
    return _denoiser(model, hidden_states=torch.randn(b, 4, s, s), timestep=_time(b), class_labels=torch.full((b,), 3))


def sd3(b, s):
    model = diffusers.SD3Transformer2DModel(sample_size=s, num_layers=4, num_attention_heads=6, attention_head_dim=64,
                                            joint_attention_dim=256, caption_projection_dim=384, pooled_projection_dim=256)
    return _denoiser(model, hidden_states=torch.randn(b, 16, s, s), encoder_hidden_states=torch.randn(b, 77, 256),
                     pooled_projections=torch.randn(b, 256), timestep=_time(b))


class Decoder(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, latents):
        return self.model.decode(latents, return_dict=False)[0]


class Encoder(Decoder):
    def forward(self, image):
        return self.model.encode(image).latent_dist.mode()


def _kl():
    return diffusers.AutoencoderKL(block_out_channels=(64, 128), layers_per_block=1, latent_channels=4,
                                   down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)


MODELS = {
    "unet": unet, "unet_text": unet_text, "dit": dit, "sd3": sd3,
    "vae_decoder": lambda b, s: (Decoder(_kl()), (torch.randn(b, 4, s, s),)),
    "vae_encoder": lambda b, s: (Encoder(_kl()), (torch.randn(b, 3, 4 * s, 4 * s),)),
    "tiny_decoder": lambda b, s: (Decoder(diffusers.AutoencoderTiny()), (torch.randn(b, 4, s, s),)),
    "vq_decoder": lambda b, s: (Decoder(diffusers.VQModel(block_out_channels=(64,))), (torch.randn(b, 3, s, s),)),
}


def names():
    return list(MODELS)


def make(architecture, batch, length):
    return MODELS[architecture](batch, length)
