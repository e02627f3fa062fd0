/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Makes the operators of a model: graph-of-model.cc. Inputs follow from roles and sizes in blocks
 * of transformers (block-operators.cc); operators of pictures and vectors say what they take
 * (picture-operators.cc).
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_GRAPH_MAKER_H
#define SCENARIOS_OPERATOR_SEARCH_GRAPH_MAKER_H

#include "scenarios/operator-search/graph-of-model.h"
#include "scenarios/operator-search/graph.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

/// A tensor on its way through a layer.
struct Flow
{
    int32_t tensor = kNone;
    uint64_t features = 0; ///< of a token; of pictures, channels
    uint64_t places = 1;   ///< tokens, or points of a picture
    uint64_t granules = 0; ///< of features: heads stay whole
};

inline uint64_t
Whole(double number)
{
    return static_cast<uint64_t>(std::llround(number));
}

class GraphMaker
{
  public:
    GraphMaker(const training::ModelSpec& model,
               uint64_t samples,
               uint32_t sequence,
               uint32_t bytes)
        : m_model(model),
          m_samples(samples),
          m_sequence(model.hasSequence ? sequence : 1),
          m_bytes(bytes)
    {
        m_graph.name = model.name;
        m_graph.samples = samples;
    }

    std::optional<Graph> Build(std::string* why);

  private:
    struct Folded
    {
        uint32_t begin;
        uint32_t end;
        int32_t in;  ///< tensor that the first block takes
        int32_t out; ///< and that the last one gives
        uint32_t times;
    };

    /// What takes the first block's input takes, in the next block, the output of the one before.
    void FollowItself(const Folded& f);
    bool AddLayer(const training::LayerSpec& layer, std::string* why);
    uint32_t AddTensor(const std::string& name, std::vector<uint64_t> shape, TensorRole role);
    std::string Unique(const std::string& name);
    /// The work of all samples as a number.
    training::Work All(const training::Work& work) const;
    Operator Start(const training::Operator& of, const std::string& name, const char* word);
    int32_t AddAxis(Operator* op, Axis axis) const;
    int32_t AddTokens(Operator* op, uint64_t places) const;
    /// Puts the operator behind the others. \return what it makes
    Flow Finish(Operator op, uint64_t places, uint64_t features, bool pictures);
    /// What a part has beside the matrices of its products, on every device.
    void AddSmallParameters(const training::Part& part, uint32_t first);

    // block-operators.cc

    bool AddBlockPart(const training::Part& part, std::string* why);
    std::string ProductName(const training::Part& part, bool attended, uint32_t index) const;
    Flow AddProduct(const training::Part& part,
                    const training::Operator& of,
                    const std::vector<Flow>& made,
                    bool attended,
                    uint32_t index);
    /// Groups of heads of the attention that stands behind a product.
    static uint64_t HeadsBehind(const training::Part& part, uint64_t otherwise);
    /// The matrix of a product: its own, or the embedding's.
    Operand Weights(const training::Operator& of,
                    const Operator& op,
                    uint64_t inner,
                    uint64_t columns);
    Flow AddAttention(const training::Operator& of, const Flow& from);
    Flow AddEmbedding(const training::Operator& of);
    Flow AddPass(const training::Operator& of, const std::vector<Flow>& made, const Flow& in);
    Flow AddLoss(const training::Operator& of, const Flow& from);

    // picture-operators.cc

    bool AddLinked(const training::Part& part, const Flow& in, std::string* why);
    /// What the first operator of all takes.
    Flow Pictures(const training::Operator& of);
    Flow AddPictureProduct(const training::Operator& of, const Flow& from);
    Flow AddPicturePass(const training::Operator& of, const std::vector<Flow>& inputs);

    const training::ModelSpec& m_model;
    uint64_t m_samples;
    uint32_t m_sequence;
    uint32_t m_bytes;
    Graph m_graph;
    Flow m_flow;             ///< what goes on to the next layer
    int32_t m_table = kNone; ///< the embedding's
    uint32_t m_parts = 0;    ///< tensors before those of the part
    bool m_block = false;    ///< the layer stands for a row of equal ones
    const training::LayerSpec* m_layer = nullptr;
    std::string m_prefix;
    std::set<std::string> m_names;
    std::vector<Folded> m_folded;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_GRAPH_MAKER_H
