/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/family.h"

namespace training
{

const std::vector<ModelFamily>&
ModelFamilies()
{
    static const std::vector<ModelFamily> families{BloomFamily(),
                                                   GptFamily(),
                                                   LlamaFamily(),
                                                   MistralFamily(),
                                                   DeepSeekFamily(),
                                                   GlmFamily(),
                                                   QwenFamily(),
                                                   GptOssFamily(),
                                                   GemmaFamily(),
                                                   PhiFamily(),
                                                   NemotronFamily(),
                                                   MegatronFamily(),
                                                   MptFamily(),
                                                   BertFamily(),
                                                   T5Family(),
                                                   PictureFamily()};
    return families;
}

} // namespace training
