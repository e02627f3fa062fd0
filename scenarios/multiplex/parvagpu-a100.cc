/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/parvagpu-a100.h"

#include "topologies/names.h"

namespace multiplex
{

namespace
{

/// Samples/s of 98 multiprocessors of an A100 (TF32), over those of an RTX 3090 (mixed precision,
/// batches of 256): the median of resnet50 (1.14), densenet121 (1.11), inceptionv3 (1.12) and vgg16
/// (1.37), by their fitted work.
constexpr double OVER_RTX3090 = 1.13;
constexpr double WHOLE_MULTIPROCESSORS = 98;
/// ms on the link a sample, as COPY_RATE of slice-curve.cc has it for a picture.
constexpr double LINK_MS = 0.05;
/// ms a sample of other work of the host: none is known, so the least that a fit would notice.
constexpr double OWN_MS = 0.01;
constexpr double BYTES_PER_MS = 2.039e9;

} // namespace

const ErrorSummary kFittedBand{103, 0.0421, 0.0010, -0.109, 0.070};
const ErrorSummary kBatchBand{91, 0.0604, 0.0165, -0.123, 0.211};
const ErrorSummary kKernelBand{85, 0.1077, -0.0510, -0.145, 0.532};

const std::vector<SlicedModel>&
SlicedModels()
{
    // Samples/s and parameters: results/benchmark-infer-amp-nchw-pt110-cu113-rtx3090.csv of
    // huggingface/pytorch-image-models@066e490; inceptionv3's at 299 x 299 points times
    // (299 / 224)^2, as it was fed 224 x 224. BERT: 79 GFLOP a sample at half of TF32's peak
    // (assumed). Operators: convolutions, norms, activations, poolings, concatenations, additions
    // and products of torchvision's forward; BERT's are assumed: 34 a layer.
    static const std::vector<SlicedModel> models = {
        // name, others, tokens, batch, rows, {host, own, weights, work, link}, ...
        {"resnet50", {}, 0, 64, 28, {4.632, 0.007417, 0.2108, 33.16, 0.04193}, 2602, 0, 25.56, 174},
        {"bert-large",
         {"bert", "bert-large-uncased"},
         128,
         64,
         30,
         {21.94, 1.229, 0.6746, 89.96, 1.368},
         0,
         110,
         335,
         820},
        {"vgg16", {}, 0, 16, 27, {1.442, 0.009094, 0.5124, 51.14, 0.06489}, 1399, 0, 138.36, 37},
        {"mobilenetv2",
         {},
         0,
         1,
         6,
         {4.659, 0.009994, 0.006919, 11.66, 0.04997},
         7580,
         0,
         3.5,
         152},
        {"densenet121",
         {},
         0,
         16,
         6,
         {11.72, 0.01007, 0.01462, 39.17, 0.06004},
         2251,
         0,
         7.98,
         427},
        {"inceptionv3",
         {},
         0,
         16,
         6,
         {8.489, 0.005554, 0.05127, 23.33, 0.1773},
         3753,
         0,
         23.83,
         310},
    };
    return models;
}

const SlicedModel*
FindSlicedModel(const std::string& name)
{
    const std::string text = name.substr(0, name.find(" ("));
    for (const SlicedModel& model : SlicedModels())
    {
        if (topo::SameName(text, model.name))
        {
            return &model;
        }
        for (const std::string& other : model.others)
        {
            if (topo::SameName(text, other))
            {
                return &model;
            }
        }
    }
    return nullptr;
}

UsualConstants
UsualOf(const SlicedModel& model)
{
    UsualConstants of;
    of.usual.host = model.operators * kOperatorSeconds * 1e3;
    of.usual.own = OWN_MS;
    of.usual.weights = model.megaParameters * 4e6 / BYTES_PER_MS;
    of.usual.work = model.samplesPerSecond > 0
                        ? 1e3 * WHOLE_MULTIPROCESSORS / (OVER_RTX3090 * model.samplesPerSecond)
                        : model.usualWork;
    of.usual.link = LINK_MS;
    of.spread = {0.3, 2, 1, 0.4, 1};
    return of;
}

} // namespace multiplex
