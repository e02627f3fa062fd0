/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reads a stage's kernels off the model's list of layers: what IterationTime computes once.
 */
#ifndef SCENARIOS_INFERENCE_KERNELS_STAGE_H
#define SCENARIOS_INFERENCE_KERNELS_STAGE_H

#include "scenarios/inference/iteration-time.h"

#include <map>

namespace serving
{

class StageReader
{
  public:
    StageReader(IterationTime& into,
                const training::ModelSpec& model,
                const StageCut& cut,
                training::Dtype weights,
                training::Dtype kv,
                double mixed);

    void Read();

  private:
    /// Kernels that every token of the batch goes through, with how many of each.
    struct Dense
    {
        std::map<ProductShape, double> products;
        double elements = 0; ///< pointwise, a token
        double launches = 0; ///< pointwise
    };

    void Embedding(const training::LayerSpec& layer);
    void Block(const training::LayerSpec& layer);
    void Head(const training::LayerSpec& layer);
    void Operators(const training::Part& part, Dense& into);
    void Reductions(const training::Part& part);
    void AddAttention(const training::Operator& op, const training::Part& part);
    void AddExperts(const training::Part& part);
    void AddPointwise(const training::Operator& op, Dense& into) const;
    void AddParameters(const training::Part& part);
    double Time(const Dense& dense, double tokens) const;
    double Share(training::Split split) const;
    /// Bytes of a weight in memory.
    double WeightBytes(bool wide, bool expert = false) const;

    IterationTime& m_into;
    const training::ModelSpec& m_model;
    const KernelTimes& m_times;
    const StageCut& m_cut;
    training::Dtype m_weights; ///< of products' inputs
    double m_kvBytes;          ///< of an element
    double m_mixed;            ///< ServingRates::mixed
    Dense m_dense;             ///< of all tokens
    Dense m_rows;              ///< of rows of logits
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_KERNELS_STAGE_H
