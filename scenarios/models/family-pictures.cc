/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models of pictures, and other networks that are no language models.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadVit(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    PatchShape& p = t.patches;
    p.image = c.Count("image_size", 1 << 14);
    p.patch = c.Count("patch_size", 1 << 14);
    p.channels = c.Given("num_channels") ? c.Count("num_channels", 1 << 14) : 3;
    p.classes = c.Given("id2label") && c.In().At("id2label").is_object()
                    ? static_cast<uint32_t>(c.In().At("id2label").size())
                    : c.Count("num_labels", kMostWords, 2);
    t.dropout = c.Positive("hidden_dropout_prob", 0);
    t.causal = false;
    if (!c.Flag("qkv_bias", true))
    {
        c.In().Fail("qkv_bias", "is not known here; allowed: true");
    }
    if (p.patch > 0 && p.image % p.patch != 0)
    {
        c.In().Fail("patch_size", "does not divide image_size, " + std::to_string(p.image));
    }
    model.hasSequence = false;
    model.sequence = 1;
}

const RegisteredFamily g_picture({"pictures", {{"vit", "ViT", "ViT", ReadVit}}});

} // namespace

} // namespace training
