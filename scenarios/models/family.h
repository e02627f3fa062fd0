/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A family of models in a file, family-NAME.cc: the types of Hugging Face's config.json that it
 * reads, and its models in the zoo. To add a model, add its entry there; to add a type, its reader.
 *
 * The zoo is JSON in the form that users write too (model-json.cc), kept in the binary so that it
 * is found from any folder. Where `parameters_published` or `active_published` stands, the
 * arithmetic on the shapes gives exactly that number (ParseModelJson insists). An entry's "config"
 * has the members of the published config.json that shape the model.
 */
#ifndef SCENARIOS_MODELS_FAMILY_H
#define SCENARIOS_MODELS_FAMILY_H

#include "scenarios/models/config-reader.h"

#include <vector>

namespace training
{

/// A "model_type" of Hugging Face.
struct ConfigType
{
    const char* type;   ///< "qwen3_moe"
    const char* prefix; ///< prefix of the names of its classes, in "architectures": "Qwen3Moe"
    const char* family; ///< "Qwen"
    void (*read)(Config&, Transformer&, ModelSpec&);
    const char* headsKey = "num_attention_heads";
    /// The language model's members stand in "text_config", beside those of pictures.
    bool inText = false;
};

struct ModelFamily
{
    std::vector<ConfigType> types;
    const char* zoo = "[]"; ///< models, sizes ascending
};

/// All of them, in the order in which they are listed.
const std::vector<ModelFamily>& ModelFamilies();

ModelFamily BloomFamily();
ModelFamily GptFamily();
ModelFamily LlamaFamily();
ModelFamily MistralFamily();
ModelFamily DeepSeekFamily();
ModelFamily GlmFamily();
ModelFamily QwenFamily();
ModelFamily GptOssFamily();
ModelFamily GemmaFamily();
ModelFamily PhiFamily();
ModelFamily NemotronFamily();
ModelFamily MegatronFamily();
ModelFamily MptFamily();
ModelFamily BertFamily();
ModelFamily T5Family();
ModelFamily PictureFamily();

} // namespace training

#endif // SCENARIOS_MODELS_FAMILY_H
