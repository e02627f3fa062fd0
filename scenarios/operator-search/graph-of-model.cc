/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/graph-of-model.h"

#include "scenarios/operator-search/equal-blocks.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sharding
{

namespace
{

using training::KernelClass;
using training::LayerSpec;
using training::ModelSpec;
using training::Part;
using training::Role;

/// A tensor on its way through a layer.
struct Flow
{
    int32_t tensor = kNone;
    uint64_t features = 0; ///< of a token; of pictures, channels
    uint64_t places = 1;   ///< tokens, or points of a picture
    uint64_t granules = 0; ///< of features: heads stay whole
};

uint64_t
Whole(double number)
{
    return static_cast<uint64_t>(std::llround(number));
}

class ModelGraph
{
  public:
    ModelGraph(const ModelSpec& model, uint64_t samples, uint32_t sequence, uint32_t bytes)
        : m_model(model),
          m_samples(samples),
          m_sequence(model.hasSequence ? sequence : 1),
          m_bytes(bytes)
    {
        m_graph.name = model.name;
        m_graph.samples = samples;
    }

    std::optional<Graph> Build(std::string* why)
    {
        for (std::size_t i = 0; i < m_model.layers.size();)
        {
            const Row row = RowFrom(m_model, i);
            const auto begin = static_cast<uint32_t>(m_graph.operators.size());
            const int32_t in = m_flow.tensor;
            m_block = row.times > 1 && row.period == 1;
            for (std::size_t k = 0; k < row.period; ++k)
            {
                if (!AddLayer(m_model.layers[i + k], why))
                {
                    return std::nullopt;
                }
            }
            const auto end = static_cast<uint32_t>(m_graph.operators.size());
            m_graph.segments.push_back({begin, end, row.times});
            if (row.times > 1 && in != kNone)
            {
                m_folded.push_back({begin, end, in, m_flow.tensor, row.times});
            }
            i += row.period * row.times;
        }
        Connect(&m_graph);
        for (const Folded& f : m_folded)
        {
            FollowItself(f);
        }
        return std::move(m_graph);
    }

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
    void FollowItself(const Folded& f)
    {
        const auto maker = static_cast<uint32_t>(m_graph.tensors[f.out].maker);
        for (uint32_t i = f.begin; i < f.end; ++i)
        {
            for (uint32_t k = 0; k < m_graph.operators[i].inputs.size(); ++k)
            {
                if (m_graph.operators[i].inputs[k].tensor == static_cast<uint32_t>(f.in))
                {
                    m_graph.edges.push_back({maker, kNone, i, k, f.times - 1.0, true});
                }
            }
        }
    }

    bool AddLayer(const LayerSpec& layer, std::string* why)
    {
        m_prefix = m_block ? "block" : layer.name;
        std::replace(m_prefix.begin(), m_prefix.end(), ' ', '-');
        m_layer = &layer;
        const Flow in = m_flow;
        for (const Part& part : layer.parts)
        {
            if (part.routing || part.name == "cross attention")
            {
                *why = m_model.name + " has " +
                       (part.routing ? "experts, whose tokens go where a router says"
                                     : "attention of a decoder to an encoder");
                return false;
            }
            const bool linked = !part.operators.empty() && !part.operators[0].takes.empty();
            if (!(linked ? AddLinked(part, in, why) : AddBlockPart(part, why)))
            {
                return false;
            }
        }
        return true;
    }

    uint32_t AddTensor(const std::string& name, std::vector<uint64_t> shape, TensorRole role)
    {
        TensorInfo tensor;
        tensor.name = name;
        tensor.shape = std::move(shape);
        tensor.role = role;
        tensor.bytes = m_bytes;
        m_graph.tensors.push_back(std::move(tensor));
        return static_cast<uint32_t>(m_graph.tensors.size() - 1);
    }

    std::string Unique(const std::string& name)
    {
        std::string unique = m_prefix + "." + name;
        for (int i = 2; !m_names.insert(unique).second; ++i)
        {
            unique = m_prefix + "." + name + "-" + std::to_string(i);
        }
        return unique;
    }

    /// The work of all samples as a number.
    training::Work All(const training::Work& work) const
    {
        training::Work all;
        all.sample = work.At(1, m_sequence) * static_cast<double>(m_samples);
        return all;
    }

    Operator Start(const training::Operator& of, const std::string& name, const char* word)
    {
        Operator op;
        op.name = Unique(name);
        op.word = word;
        op.compute = of;
        op.compute.takes.clear();
        op.compute.split = training::Split::kWhole;
        op.compute.rows = All(of.rows);
        op.compute.elements = All(of.elements);
        op.compute.bytes = All(of.bytes);
        op.compute.flops = All(of.flops);
        op.axes.push_back(Cuttable("samples", m_samples));
        return op;
    }

    int32_t AddAxis(Operator* op, Axis axis) const
    {
        op->axes.push_back(std::move(axis));
        return static_cast<int32_t>(op->axes.size() - 1);
    }

    int32_t AddTokens(Operator* op, uint64_t places) const
    {
        return AddAxis(op, Uncut("tokens", places, "whose tokens stay together"));
    }

    /// Puts the operator behind the others. \return what it makes
    Flow Finish(Operator op, uint64_t places, uint64_t features, bool pictures)
    {
        const std::vector<uint64_t> shape =
            pictures ? std::vector<uint64_t>{m_samples, features, places}
                     : std::vector<uint64_t>{m_samples, places, features};
        uint64_t granules = features;
        const int32_t along = op.output.axes[pictures ? 1 : 2];
        if (along != kNone && op.axes[static_cast<std::size_t>(along)].granules > 1)
        {
            granules = op.axes[static_cast<std::size_t>(along)].granules;
        }
        const uint32_t tensor = AddTensor(op.name, shape, TensorRole::kMade);
        m_graph.tensors[tensor].maker = static_cast<int32_t>(m_graph.operators.size());
        op.output.tensor = tensor;
        m_graph.operators.push_back(std::move(op));
        return {static_cast<int32_t>(tensor), features, places, granules};
    }

    /// What a part has beside the matrices of its products, on every device.
    void AddSmallParameters(const Part& part, uint32_t first)
    {
        double elements = 0;
        for (const training::Tensor& tensor : part.tensors)
        {
            elements += static_cast<double>(tensor.All());
        }
        for (uint32_t i = first; i < m_graph.operators.size(); ++i)
        {
            for (const Operand& input : m_graph.operators[i].inputs)
            {
                const TensorInfo& tensor = m_graph.tensors[input.tensor];
                const bool own = tensor.role == TensorRole::kParameter && input.tensor >= m_parts;
                elements -= own ? tensor.Elements() : 0;
            }
        }
        if (elements >= 1 && first < m_graph.operators.size())
        {
            Operator& op = m_graph.operators[first];
            op.inputs.push_back({AddTensor(op.name + " small parameters",
                                           {Whole(elements)},
                                           TensorRole::kParameter),
                                 {kNone},
                                 true});
        }
    }

    // ---- blocks of transformers: inputs follow from roles and sizes

    bool AddBlockPart(const Part& part, std::string* why)
    {
        m_parts = static_cast<uint32_t>(m_graph.tensors.size());
        const auto first = static_cast<uint32_t>(m_graph.operators.size());
        const Flow in = m_flow;
        std::vector<Flow> made{in};
        bool attended = false;
        uint32_t products = 0;
        for (const training::Operator& op : part.operators)
        {
            if (op.scan || op.expert || op.count != 1 ||
                (op.kind == KernelClass::kAttention && !op.joined))
            {
                *why = m_model.name + " has layers whose inputs are not known here (recurrences, "
                                      "latent attention)";
                return false;
            }
            switch (op.kind)
            {
            case KernelClass::kMatrix:
            case KernelClass::kConvolution:
                made.push_back(AddProduct(part, op, made, attended, products++));
                break;
            case KernelClass::kAttention:
                made.push_back(AddAttention(op, made.back()));
                attended = true;
                break;
            case KernelClass::kPointwise:
                if (op.role != Role::kJoin) // of backward alone
                {
                    made.push_back(AddPass(op, made, in));
                }
                break;
            }
        }
        m_flow = made.back();
        AddSmallParameters(part, first);
        return true;
    }

    std::string ProductName(const Part& part, bool attended, uint32_t index) const
    {
        if (part.name == "attention")
        {
            return attended ? "projection" : "qkv";
        }
        if (part.name == "mlp")
        {
            const auto count =
                std::count_if(part.operators.begin(), part.operators.end(), [](const auto& op) {
                    return op.kind == KernelClass::kMatrix;
                });
            return index + 1 == count ? "down" : index + 2 == count ? "up" : "gate";
        }
        return "product";
    }

    Flow AddProduct(const Part& part,
                    const training::Operator& of,
                    const std::vector<Flow>& made,
                    bool attended,
                    uint32_t index)
    {
        Operator op = Start(of, ProductName(part, attended, index), "matmul");
        const uint64_t places = std::max<uint64_t>(1, Whole(of.rows.At(1, m_sequence)));
        const uint64_t inner = Whole(of.inner);
        const uint64_t columns = Whole(of.columns);
        Flow from = made.back();
        const auto fits = [inner](const Flow& f) { return f.features == inner; };
        const auto found = std::find_if(made.rbegin(), made.rend(), fits);
        if (found != made.rend() && found->tensor != kNone)
        {
            from = *found;
        }
        if (from.tensor == kNone) // a picture's patches
        {
            from = {static_cast<int32_t>(
                        AddTensor("pictures", {m_samples, places, inner}, TensorRole::kData)),
                    inner,
                    places,
                    inner};
        }
        const int32_t tokens = AddTokens(&op, from.places);
        Axis in = Cuttable("inputs", inner, true);
        in.granules = from.granules > 0 ? from.granules : inner;
        op.inner = AddAxis(&op, in);
        Axis out = Cuttable("outputs", columns);
        out.granules = attended ? columns : HeadsBehind(part, columns);
        op.columns = AddAxis(&op, out);
        op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, op.inner}, false});
        op.inputs.push_back(Weights(of, op, inner, columns));
        op.output.axes = {0, AddTokens(&op, places), op.columns};
        op.kind = of.kind == KernelClass::kConvolution ? Kind::kConvolution : Kind::kProduct;
        if (of.kind == KernelClass::kConvolution)
        {
            const double read = static_cast<double>(m_samples * from.places) * of.inner;
            op.compute.elements = {read, std::max(0.0, op.compute.elements.sample - read), 0};
        }
        return Finish(std::move(op), places, columns, false);
    }

    /// Groups of heads of the attention that stands behind a product.
    static uint64_t HeadsBehind(const Part& part, uint64_t otherwise)
    {
        for (const training::Operator& op : part.operators)
        {
            if (op.kind == KernelClass::kAttention)
            {
                return Whole(op.kvHeads);
            }
        }
        return otherwise;
    }

    /// The matrix of a product: its own, or the embedding's.
    Operand Weights(const training::Operator& of,
                    const Operator& op,
                    uint64_t inner,
                    uint64_t columns)
    {
        const bool tied = m_layer->tiedTo == 0 && m_table != kNone &&
                          inner * columns == m_layer->tiedParameters && of.weights;
        if (tied)
        {
            return {static_cast<uint32_t>(m_table), {op.columns, op.inner}, false};
        }
        return {AddTensor(op.name + " weights", {inner, columns}, TensorRole::kParameter),
                {op.inner, op.columns},
                false};
    }

    Flow AddAttention(const training::Operator& of, const Flow& from)
    {
        Operator op = Start(of, "attention", "attention");
        op.kind = Kind::kAttention;
        training::Operator& core = op.compute;
        core.queries.sample = of.queries.At(1, m_sequence);
        core.keys.sample = of.keys.At(1, m_sequence);
        core.queries.token = core.keys.token = 0;
        core.heads = of.heads * static_cast<double>(m_samples);
        core.kvHeads = of.kvHeads * static_cast<double>(m_samples);
        const uint64_t width = Whole(of.heads * of.headSize);
        const int32_t tokens = AddTokens(&op, from.places);
        Axis heads = Cuttable("heads", width);
        heads.granules = Whole(of.kvHeads);
        op.heads = AddAxis(&op, heads);
        op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, op.heads}, false});
        op.output.axes = {0, tokens, op.heads};
        return Finish(std::move(op), from.places, width, false);
    }

    Flow AddEmbedding(const training::Operator& of)
    {
        Operator op = Start(of, "embedding", "embedding");
        op.kind = Kind::kEmbedding;
        const uint64_t places = m_sequence;
        const auto table = static_cast<double>(of.tables.shared);
        const uint64_t features =
            Whole(of.elements.At(1, m_sequence) / (of.tables.count + 1.0) / m_sequence);
        const int32_t tokens = AddTokens(&op, places);
        const uint64_t rows = Whole(table / static_cast<double>(features));
        const int32_t v = AddAxis(&op, Cuttable("table's rows", rows, true));
        const int32_t h = AddAxis(&op, Cuttable("table's columns", features));
        const uint32_t ids = AddTensor("tokens", {m_samples, places}, TensorRole::kData);
        op.inputs.push_back({ids, {0, tokens}, false});
        m_table = static_cast<int32_t>(
            AddTensor(op.name + " table", {rows, features}, TensorRole::kParameter));
        op.inputs.push_back({static_cast<uint32_t>(m_table), {v, h}, false});
        op.output.axes = {0, tokens, h};
        return Finish(std::move(op), places, features, false);
    }

    Flow AddPass(const training::Operator& of, const std::vector<Flow>& made, const Flow& in)
    {
        const Flow& from = made.back();
        if (of.role == Role::kEmbedding && from.tensor == kNone)
        {
            return AddEmbedding(of);
        }
        if (of.role == Role::kOther && of.bytes.At(1, m_sequence) > 0)
        {
            return AddLoss(of, from);
        }
        const char* name = "pass";
        const char* word = "elementwise";
        bool along = false; // features stay together
        std::vector<Flow> inputs{from};
        switch (of.role)
        {
        case Role::kNorm:
            along = of.split != training::Split::kTensor; // else a norm of each head
            name = word = "norm";
            break;
        case Role::kActivation:
            name = "activation";
            break;
        case Role::kGate:
            name = "gating";
            if (made.size() > 2 && made[made.size() - 2].features == from.features)
            {
                inputs.insert(inputs.begin(), made[made.size() - 2]);
            }
            break;
        case Role::kResidual:
            name = word = "add";
            inputs.push_back(in);
            break;
        default:
            break;
        }
        Operator op = Start(of, name, word);
        op.kind = along ? Kind::kOther : Kind::kElementwise;
        const int32_t tokens = AddTokens(&op, from.places);
        Axis axis = along ? Uncut("features", from.features, "the norm's axis")
                          : Cuttable("features", from.features);
        axis.granules = along ? 1 : from.granules;
        const int32_t features = AddAxis(&op, axis);
        for (const Flow& input : inputs)
        {
            op.inputs.push_back(
                {static_cast<uint32_t>(input.tensor), {0, tokens, features}, false});
        }
        op.output.axes = {0, tokens, features};
        return Finish(std::move(op), from.places, from.features, false);
    }

    Flow AddLoss(const training::Operator& of, const Flow& from)
    {
        Operator op = Start(of, "loss", "loss");
        op.kind = Kind::kOther;
        const int32_t tokens = AddTokens(&op, from.places);
        const int32_t classes = AddAxis(&op, Cuttable("classes", from.features, true));
        op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, tokens, classes}, false});
        op.output.axes = {0, tokens, kNone};
        op.summedElements = 3; // largest logit, sum, target's logit
        return Finish(std::move(op), from.places, 1, false);
    }

    // ---- pictures and vectors: operators say what they take

    bool AddLinked(const Part& part, const Flow& in, std::string* why)
    {
        m_parts = static_cast<uint32_t>(m_graph.tensors.size());
        const auto first = static_cast<uint32_t>(m_graph.operators.size());
        Flow start = in;
        std::vector<Flow> made;
        for (const training::Operator& of : part.operators)
        {
            std::vector<Flow> inputs;
            for (const int32_t t : of.takes)
            {
                inputs.push_back(t < 0 ? start : made[static_cast<std::size_t>(t)]);
            }
            if (inputs[0].tensor == kNone)
            {
                start = Pictures(of);
                std::replace_if(
                    inputs.begin(),
                    inputs.end(),
                    [](const Flow& f) { return f.tensor == kNone; },
                    start);
            }
            if (of.kind == KernelClass::kAttention || of.scan)
            {
                *why = m_model.name + " has layers whose inputs are not known here";
                return false;
            }
            const bool product = of.kind != KernelClass::kPointwise;
            made.push_back(product ? AddPictureProduct(of, inputs[0]) : AddPicturePass(of, inputs));
        }
        m_flow = part.leaves < 0 ? start : made[static_cast<std::size_t>(part.leaves)];
        AddSmallParameters(part, first);
        return true;
    }

    /// What the first operator of all takes.
    Flow Pictures(const training::Operator& of)
    {
        double elements = of.elements.At(1, 1) - of.channels * of.places;
        if (of.kind == KernelClass::kMatrix)
        {
            elements = of.rows.At(1, 1) * of.inner;
        }
        const uint64_t all = Whole(std::max(1.0, elements));
        const bool vector = of.kind == KernelClass::kMatrix;
        const std::vector<uint64_t> shape = vector ? std::vector<uint64_t>{m_samples, all, 1}
                                                   : std::vector<uint64_t>{m_samples, 1, all};
        return {static_cast<int32_t>(AddTensor("samples", shape, TensorRole::kData)),
                shape[1],
                shape[2],
                shape[1]};
    }

    Flow AddPictureProduct(const training::Operator& of, const Flow& from)
    {
        const bool picture = of.kind == KernelClass::kConvolution;
        const bool grouped = of.columns == 0;
        Operator op = Start(of, picture ? "conv" : "linear", picture ? "conv" : "matmul");
        op.kind = picture ? Kind::kConvolution : Kind::kProduct;
        const double weights =
            grouped ? of.flops.At(1, 1) / (2 * of.places) : of.columns * of.inner;
        const uint64_t columns = Whole(of.columns > 0 ? of.columns : of.channels);
        const uint64_t inner = std::max<uint64_t>(1, Whole(weights / static_cast<double>(columns)));
        const bool again = of.count > 1;
        const char* const why = again     ? "which every step of a recurrence needs"
                                : grouped ? "which groups of channels share"
                                          : "";
        Axis in = again || grouped ? Uncut("inputs", inner, why) : Cuttable("inputs", inner, true);
        if (!again && !grouped)
        {
            in.granules = from.granules; // channels stay whole
        }
        if (in.granules == 1)
        {
            in.whole = in.whole.empty() ? "of one channel" : in.whole;
        }
        op.inner = AddAxis(&op, in);
        op.columns = AddAxis(&op,
                             again || grouped ? Uncut("outputs", columns, why)
                                              : Cuttable("outputs", columns));
        const int32_t places =
            AddAxis(&op, Uncut("places", from.places, "along which the window moves"));
        op.inputs.push_back({static_cast<uint32_t>(from.tensor), {0, op.inner, places}, false});
        op.inputs.push_back(
            {AddTensor(op.name + " weights", {inner, columns}, TensorRole::kParameter),
             {op.inner, op.columns},
             false});
        const int32_t out =
            AddAxis(&op, Uncut("places", Whole(of.places), "along which the window moves"));
        op.output.axes = {0, op.columns, out};
        if (picture)
        {
            const double read = static_cast<double>(m_samples * from.features * from.places);
            op.compute.elements = {read, std::max(0.0, op.compute.elements.sample - read), 0};
        }
        return Finish(std::move(op), Whole(of.places), columns, true);
    }

    Flow AddPicturePass(const training::Operator& of, const std::vector<Flow>& inputs)
    {
        Operator op = Start(of, inputs.size() > 1 ? "join" : "pass", "elementwise");
        op.kind = Kind::kElementwise;
        const uint64_t channels = Whole(of.channels);
        const int32_t c = AddAxis(&op, Cuttable("channels", channels));
        const int32_t places =
            AddAxis(&op, Uncut("places", inputs[0].places, "along which the window moves"));
        for (const Flow& input : inputs)
        {
            // A part of channels that are put side by side is no part of each: they are whole.
            op.inputs.push_back({static_cast<uint32_t>(input.tensor),
                                 {0, input.features == channels ? c : kNone, places},
                                 false});
        }
        op.output.axes = {0, c, AddAxis(&op, Uncut("places", Whole(of.places), "as they are"))};
        return Finish(std::move(op), Whole(of.places), channels, true);
    }

    const ModelSpec& m_model;
    uint64_t m_samples;
    uint32_t m_sequence;
    uint32_t m_bytes;
    Graph m_graph;
    Flow m_flow;             ///< what goes on to the next layer
    int32_t m_table = kNone; ///< the embedding's
    uint32_t m_parts = 0;    ///< tensors before those of the part
    bool m_block = false;    ///< the layer stands for a row of equal ones
    const LayerSpec* m_layer = nullptr;
    std::string m_prefix;
    std::set<std::string> m_names;
    std::vector<Folded> m_folded;
};

} // namespace

std::optional<Graph>
GraphOfModel(const training::ModelSpec& model,
             uint64_t samples,
             uint32_t sequence,
             uint32_t elementBytes,
             std::string* why)
{
    const bool any = std::any_of(model.layers.begin(), model.layers.end(), [](const auto& layer) {
        return std::any_of(layer.parts.begin(), layer.parts.end(), [](const Part& part) {
            return !part.operators.empty() &&
                   (part.operators[0].columns > 0 || part.operators[0].role != Role::kOther ||
                    !part.operators[0].takes.empty());
        });
    });
    if (!any)
    {
        *why = model.name + " is a list of layers without operators";
        return std::nullopt;
    }
    return ModelGraph(model, samples, sequence, elementBytes).Build(why);
}

} // namespace sharding
