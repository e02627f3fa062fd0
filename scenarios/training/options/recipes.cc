/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/recipes.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/models/gpu-zoo.h"

#include <algorithm>
#include <utility>

namespace scenario
{

namespace
{

/// When an option of a recipe applies.
enum class If : uint8_t
{
    kAlways,
    kBf16,      ///< --dtype=bf16, or fp8
    kTensor,    ///< --tp above 1
    kPipeline,  ///< --pp above 1
    kStage3,    ///< --zero=3
    kNotNarrow, ///< a --dtype that is no fp8 or fp4
};

struct Setting
{
    const char* option;
    const char* value;
    If where = If::kAlways;
};

struct Recipe
{
    const char* name;
    const char* help;
    std::vector<Setting> settings;
};

/// Memory traffic of eager PyTorch beyond --kernels=eager: 60 ps at H100's 2.9 TB/s for a token,
/// hidden unit and block. Fitted to the rows of llm-foundry (50 ps alone) and nanotron (70 ps
/// alone) on H100, 760M to 70B, in tests/golden/measured/measured_training.csv. Which kernels they
/// are is not known.
constexpr const char* kEagerBytes = "175";

const std::vector<Recipe>&
Recipes()
{
    // megatron: NVIDIA-NeMo/Megatron-Bridge's recipes have the distributed optimizer and gradients
    // reduced in fp32; so has Megatron-LM with --bf16, and not with --fp16 (validate_args of
    // megatron/training/arguments.py@000c4ac). --sequence-parallel is off by default there and
    // usual with TP: assumed. Transformer Engine takes cuDNN from Hopper on.
    // fsdp2: MixedPrecisionPolicy's reduce_dtype is None, the datatype of computing
    // (pytorch/pytorch torch/distributed/fsdp/_fully_shard/_fsdp_api.py). Sequence parallelism with
    // TP: assumed. torchtitan: mixed_precision_reduce "float32", activation_checkpoint.mode
    // "selective" (torchtitan/config/job_config.py@000204a); its plan of TP shares norms out:
    // assumed. deepspeed: stage 3 of deepspeed/runtime/zero/config.py@cbf3d66, with
    // communication_data_type bf16 under bf16 (deepspeed/runtime/engine.py). FlashAttention 2:
    // assumed.
    static const std::vector<Recipe> recipes = {
        {"megatron",
         "Megatron-LM: distributed optimizer, fp32 gradients (bf16), sequence parallel, cuDNN's "
         "attention",
         {{"bucketing", "megatron"},
          {"zero", "1"},
          {"fused-attention", "1"},
          {"attention-kernel", "vendor"},
          {"reduce-dtype", "fp32", If::kBf16},
          {"sequence-parallel", "1", If::kTensor}}},
        {"fsdp2",
         "PyTorch's fully_shard: ZeRO-3, FlashAttention 2",
         {{"bucketing", "block"},
          {"zero", "3"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"sequence-parallel", "1", If::kTensor}}},
        {"torchtitan",
         "as fsdp2, with fp32 gradients and selective recomputation",
         {{"bucketing", "block"},
          {"zero", "3"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"reduce-dtype", "fp32", If::kBf16},
          {"recompute", "selective"},
          {"loss", "unfused"},
          {"sequence-parallel", "1", If::kTensor}}},
        {"deepspeed",
         "DeepSpeed's ZeRO-3 with its own defaults, FlashAttention 2",
         {{"zero", "3"},
          {"zero-impl", "deepspeed"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"}}},
        {"nanotron",
         "Hugging Face's nanotron: eager operators, FlashAttention 2, fp32 gradients, unfused loss",
         {{"zero", "1"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"kernels", "eager", If::kNotNarrow},
          {"eager-bytes", kEagerBytes},
          {"loss", "unfused"},
          {"reduce-dtype", "fp32", If::kBf16},
          {"gradient-copies", "1", If::kBf16},
          {"sequence-parallel", "1", If::kTensor},
          {"kept-gathers", "1", If::kTensor},
          {"partition", "balanced", If::kPipeline}}},
        {"llm-foundry",
         "MosaicML's llm-foundry: FSDP, eager operators, Triton's attention, bf16 gradients",
         {{"bucketing", "block"},
          {"zero", "3"},
          {"fused-attention", "1"},
          {"attention-kernel", "triton"},
          {"kernels", "eager", If::kNotNarrow},
          {"eager-bytes", kEagerBytes}}},
        {"aleph-alpha",
         "Aleph Alpha's scaling: FlashAttention 2, fp32 gradients reduced behind the last "
         "micro-batch",
         {{"zero", "1"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"reduce-dtype", "fp32", If::kBf16},
          {"overlap", "0"}}},
        // 0.5: assumed. Its rows, of one model, lie between no overlap and all of it.
        {"internevo",
         "InternEvo: FlashAttention 2, half of the gradients reduced beside computing",
         {{"zero", "1"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"overlap-share", "0.5"},
          {"sequence-parallel", "1", If::kTensor}}},
        {"kempnerforge",
         "KempnerForge: FSDP2, bf16 optimizer states, gradients reduced once a step",
         {{"bucketing", "block"},
          {"zero", "3"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"reduce-dtype", "fp32", If::kBf16},
          {"master-weights", "0"},
          {"accumulate", "unsharded", If::kStage3},
          {"loss", "float"},
          {"logits", "whole", If::kTensor},
          {"sequence-parallel", "1", If::kTensor}}},
        {"xtuner",
         "XTuner: DeepSpeed's ZeRO-3, eager operators of Hugging Face's models, FlashAttention 2",
         {{"zero", "3"},
          {"zero-impl", "deepspeed"},
          {"fused-attention", "1"},
          {"attention-kernel", "flash2"},
          {"kernels", "eager", If::kNotNarrow},
          {"eager-bytes", kEagerBytes}}},
        {"maxtext",
         "MaxText on XLA: parameters shared out, cuDNN's attention, collectives by copy engines",
         {{"zero", "3"},
          {"fused-attention", "1"},
          {"attention-kernel", "vendor"},
          {"collective-sms", "0"}}},
    };
    return recipes;
}

bool
Applies(If where, const Values& values)
{
    switch (where)
    {
    case If::kAlways:
        return true;
    case If::kBf16: {
        const auto dtype = training::ParseDtype(values.Get(&asked::Model::dtype));
        return dtype && training::WideOf(*dtype) == training::Dtype::kBf16;
    }
    case If::kTensor:
        return values.Get(&asked::Degrees::tp) > 1;
    case If::kPipeline:
        return values.Get(&asked::Degrees::pp).number > 1;
    case If::kNotNarrow: {
        const auto dtype = training::ParseDtype(values.Get(&asked::Model::dtype));
        return dtype && !training::NarrowOf(*dtype);
    }
    case If::kStage3:
        return values.Given(&asked::Training::zero) && values.Get(&asked::Training::zero) == 3;
    }
    return false;
}

const char*
ConditionText(If where)
{
    constexpr const char* kTexts[] = {"",
                                      ", with bf16",
                                      ", with --tp above 1",
                                      ", with --pp above 1",
                                      ", with --zero=3",
                                      ", without fp8 and fp4"};
    return kTexts[static_cast<uint32_t>(where)];
}

} // namespace

std::vector<NamedItem>
RecipeItems()
{
    std::vector<NamedItem> items;
    for (const Recipe& recipe : Recipes())
    {
        items.push_back({recipe.name, recipe.help});
    }
    return items;
}

std::string
RecipesText()
{
    std::string text = std::string(kRecipeTitle) + "\n";
    for (const Recipe& recipe : Recipes())
    {
        text += std::string("\n") + recipe.name + ": " + recipe.help + "\n";
        for (const Setting& setting : recipe.settings)
        {
            text += std::string("  --") + setting.option + "=" + setting.value +
                    ConditionText(setting.where) + "\n";
        }
    }
    return text;
}

void
ApplyRecipe(Validation* v)
{
    if (!v->values.Given(&asked::Training::recipe))
    {
        return;
    }
    const std::string& name = v->values.Get(&asked::Training::recipe);
    const auto recipe = std::find_if(Recipes().begin(),
                                     Recipes().end(),
                                     [&name](const Recipe& each) { return each.name == name; });
    std::string set;
    for (const Setting& setting : recipe->settings)
    {
        if (!v->values.Given(setting.option) && Applies(setting.where, v->values))
        {
            v->Decide(setting.option, setting.value);
            Value& value = v->values.Slot(setting.option);
            value.given = true; // no default of another option replaces it
            value.where = "--recipe=" + name + ": --" + setting.option;
            set += std::string(" --") + setting.option + "=" + setting.value;
        }
    }
    v->notes.push_back("--recipe=" + name +
                       (set.empty() ? ": every option it has is given" : " sets" + set));
}

} // namespace scenario
