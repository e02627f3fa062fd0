/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers of operators, one after another; parameters and FLOPs follow from their shapes. A sample
 * is a picture ("image": its height and width, "channels": 3) or a vector ("input": its length),
 * or a number of them one after another ("steps": of a recurrent network).
 *
 *   ["conv", out, kernel, stride, padding]         without a bias; and, as all kernels, strides and
 *                                                  paddings, [height, width] if they differ
 *   ["conv", out, kernel, stride, padding, groups]
 *   ["conv+bias", ...]
 *   ["linear", out]                                of all channels and points; with a bias
 *   ["linear", out, "columns"], ["linear", out, "rows"]   a pair that tensor parallelism shares
 *                                                  out. Each rank has some outputs of the first,
 *                                                  which are its inputs of the second; the sums
 *                                                  of the second are added up. Between the two
 *                                                  relu and dropout only
 *   ["bn"] ["relu"] ["dropout"]
 *   ["maxpool", kernel, stride, padding]
 *   ["avgpool", kernel, stride, padding], ["avgpool"]   the second of the whole picture
 *   ["lstm", hidden]                               over the steps
 *   ["embedding", vocabulary, size]                of a word a step, whatever came in
 *   ["softmax"]                                    with the loss
 *   {"concat": [[...], [...]]}                     branches on the same input, put side by side; []
 *                                                  is the input itself
 *
 * A layer has "ops" and, if wanted, "residual" (its input is added to what comes out) with
 * "shortcut" (operators on that way), "repeat" and "first" (so many of them, named NAME.first and
 * on), "aside" (a side exit: what comes out ends there, and the next layer takes what this one
 * took).
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/model-forms.h"

#include <array>

namespace training
{

namespace
{

/// What goes from operator to operator, of one sample.
struct Shape
{
    uint64_t channels = 0;
    uint64_t height = 1;
    uint64_t width = 1;
    uint64_t steps = 1;
    bool divided = false; ///< each rank of a tensor group has a share of the channels
    int32_t made = -1;    ///< the operator of the layer that makes it; -1: it comes in

    /// The elements of all steps.
    double Elements() const
    {
        return static_cast<double>(channels) * Places();
    }

    double Places() const
    {
        return static_cast<double>(height * width) * static_cast<double>(steps);
    }
};

/// Two numbers of a kernel, a stride or a padding: [height, width].
using Pair = std::array<uint64_t, 2>;

/// An operator's numbers, each written as n or, where two are meant, as [n, m].
using Numbers = std::vector<Pair>;

constexpr uint64_t kMostNumber = 1 << 20;

/// \param end behind the last of them \return a message if one of them is no number
std::string
ReadNumbers(const nlohmann::json& op, size_t end, Numbers& numbers)
{
    const auto good = [](const nlohmann::json& n) {
        return n.is_number_unsigned() && n.get<uint64_t>() <= kMostNumber;
    };
    for (size_t i = 1; i < end; ++i)
    {
        if (good(op[i]))
        {
            numbers.push_back({op[i].get<uint64_t>(), op[i].get<uint64_t>()});
        }
        else if (op[i].is_array() && op[i].size() == 2 && good(op[i][0]) && good(op[i][1]))
        {
            numbers.push_back({op[i][0].get<uint64_t>(), op[i][1].get<uint64_t>()});
        }
        else
        {
            return "element " + std::to_string(i) +
                   " must be a whole number, at most 2^20, or two of them, [height, width]";
        }
    }
    return "";
}

/// Moves a window over the picture. \return whether anything is left
bool
Slide(Shape& x, const Pair& kernel, const Pair& stride, const Pair& padding)
{
    const std::array<uint64_t*, 2> sides = {&x.height, &x.width};
    for (size_t i = 0; i < 2; ++i)
    {
        const uint64_t side = *sides[i] + 2 * padding[i];
        if (stride[i] == 0 || kernel[i] == 0 || side < kernel[i])
        {
            return false;
        }
        *sides[i] = (side - kernel[i]) / stride[i] + 1;
    }
    return true;
}

const char* const kNothingLeft = "leaves nothing of the picture";
const char* const kTooMany = "has more than 2^40 weights";
const char* const kDivided = "stands behind a linear layer by \"columns\": there may be relu, "
                             "dropout and then a linear layer by \"rows\"";

std::string
Convolution(const Numbers& n, bool bias, Part& part, Shape& x)
{
    const uint64_t out = n[0][0];
    const uint64_t groups = n.size() > 4 ? n[4][0] : 1;
    if (groups == 0 || out % groups != 0 || x.channels % groups != 0)
    {
        return "has " + std::to_string(groups) + " groups, which do not divide its " +
               std::to_string(x.channels) + " and " + std::to_string(out) + " channels";
    }
    const double wide = static_cast<double>(x.channels / groups) * static_cast<double>(n[1][0]) *
                        static_cast<double>(n[1][1]);
    if (wide * static_cast<double>(out) > kMost)
    {
        return kTooMany;
    }
    const auto inner = static_cast<uint64_t>(wide);
    const double before = x.Elements();
    if (out == 0 || !Slide(x, n[1], n[2], n[3]))
    {
        return kNothingLeft;
    }
    x.channels = out;
    part.tensors.push_back({inner * out});
    if (bias)
    {
        part.tensors.push_back({out});
    }
    Operator product = Product({x.Places(), 0, 0}, out, wide);
    if (groups > 1)
    {
        // One kernel does all groups; it is no single product.
        product.flops = product.Flops();
        product.rows = {};
        product.columns = 0;
        product.inner = 0;
    }
    product.kind = KernelClass::kConvolution;
    product.elements = {before + x.Elements(), 0, 0};
    part.operators.push_back(product);
    part.kept.push_back({{2 * before, 0, 0}});
    return "";
}

/// The split of a linear layer in a tensor group: "columns", "rows" or, empty, none.
/// \param first first layer of the model: the gradient of its input is not needed
std::string
LinearLayer(uint64_t out, const std::string& how, bool first, Part& part, Shape& x)
{
    const uint64_t in = x.channels * x.height * x.width;
    if (static_cast<double>(in) * static_cast<double>(out) > kMost)
    {
        return kTooMany;
    }
    if (out == 0)
    {
        return "has no outputs";
    }
    const bool columns = how == "columns";
    const bool rows = how == "rows";
    if (x.divided != rows)
    {
        return rows ? "needs a linear layer by \"columns\" before it" : kDivided;
    }
    const Split split = columns || rows ? Split::kTensor : Split::kWhole;
    part.tensors.insert(part.tensors.end(),
                        {{in * out, split}, {out, columns ? Split::kTensor : Split::kWhole}});
    Operator product = Product({static_cast<double>(x.steps), 0, 0}, out, in);
    product.split = split;
    product.dividesInner = rows;
    part.operators.push_back(product);
    part.kept.push_back({{2 * x.Elements(), 0, 0}, rows ? Split::kTensor : Split::kWhole});
    if (columns && !first)
    {
        part.entry = {x.Elements(), 0, 0};
    }
    x = {out, 1, 1, x.steps, columns};
    if (rows)
    {
        part.exit = {x.Elements(), 0, 0};
    }
    return "";
}

/// An LSTM's four gates: one product of all steps' inputs, then one a step of the hidden state, as
/// the libraries do it.
std::string
Lstm(uint64_t hidden, Part& part, Shape& x)
{
    const uint64_t in = x.channels * x.height * x.width;
    if (hidden == 0 || static_cast<double>(in + hidden) * 4 * static_cast<double>(hidden) > kMost)
    {
        return hidden == 0 ? "has no outputs" : kTooMany;
    }
    part.tensors.insert(part.tensors.end(),
                        {{4 * hidden * in}, {4 * hidden * hidden}, {4 * hidden}});
    const double steps = static_cast<double>(x.steps);
    part.operators.push_back(Product({steps, 0, 0}, 4.0 * hidden, in));
    Operator recurrent = Product({1, 0, 0}, 4.0 * hidden, hidden);
    recurrent.count = steps;
    part.operators.push_back(recurrent);
    // Gates (both products' sums) and cell are read; gates, cell and output are written and kept.
    AddPointwise(part, {steps * 15.0 * hidden, 0, 0});
    part.kept.push_back({{2 * (x.Elements() + 6.0 * steps * hidden), 0, 0}});
    x = {hidden, 1, 1, x.steps};
    return "";
}

std::string
Embed(const Numbers& n, Part& part, Shape& x)
{
    if (static_cast<double>(n[0][0]) * static_cast<double>(n[1][0]) > kMost)
    {
        return kTooMany;
    }
    if (n[0][0] == 0 || n[1][0] == 0)
    {
        return "has no words, or nothing for one";
    }
    part.tensors.push_back({n[0][0] * n[1][0]});
    x = {n[1][0], 1, 1, x.steps};
    AddPointwise(part, {2 * x.Elements(), 0, 0});
    return "";
}

/// Says of the operators from `begin` on, which follow each other, what they take and make.
void
Link(Part& part, size_t begin, std::vector<int32_t> takes, Shape& x)
{
    for (size_t i = begin; i < part.operators.size(); ++i)
    {
        part.operators[i].takes = takes;
        part.operators[i].channels = static_cast<double>(x.channels);
        part.operators[i].places = x.Places();
        takes = {static_cast<int32_t>(i)};
    }
    x.made = part.operators.size() > begin ? takes[0] : x.made;
}

std::string Apply(const nlohmann::json& op, bool first, Part& part, Shape& x);

std::string
ApplyAll(const nlohmann::json& ops, bool first, Part& part, Shape& x, std::string& where)
{
    if (!ops.is_array())
    {
        return "is not a list of operators";
    }
    for (size_t i = 0; i < ops.size(); ++i)
    {
        const size_t begin = part.operators.size();
        const int32_t taken = x.made;
        const std::string error = Apply(ops[i], first, part, x);
        if (!error.empty())
        {
            where += "/" + std::to_string(i);
            return error;
        }
        if (!ops[i].is_object()) // else Concatenate has
        {
            Link(part, begin, {taken}, x);
        }
    }
    return "";
}

std::string
Concatenate(const nlohmann::json& op, Part& part, Shape& x)
{
    if (x.divided)
    {
        return kDivided;
    }
    if (op.size() != 1 || !op.contains("concat") || !op["concat"].is_array() ||
        op["concat"].empty())
    {
        return "must be {\"concat\": [[...], [...]]}, a list of lists of operators";
    }
    Shape sum;
    std::vector<int32_t> branches;
    for (size_t i = 0; i < op["concat"].size(); ++i)
    {
        Shape branch = x;
        std::string where = "concat/" + std::to_string(i);
        const std::string error = ApplyAll(op["concat"][i], false, part, branch, where);
        if (!error.empty())
        {
            return where + ": " + error;
        }
        if (branch.divided)
        {
            return where + ": ends behind a linear layer by \"columns\", without one by \"rows\"";
        }
        if (i > 0 && (branch.height != sum.height || branch.width != sum.width))
        {
            return where + ": is " + std::to_string(branch.height) + " x " +
                   std::to_string(branch.width) + ", the first branch " +
                   std::to_string(sum.height) + " x " + std::to_string(sum.width);
        }
        branch.channels += i > 0 ? sum.channels : 0;
        branches.push_back(branch.made);
        sum = branch;
    }
    x = sum;
    AddPointwise(part, {2 * x.Elements(), 0, 0});
    Link(part, part.operators.size() - 1, branches, x);
    return "";
}

struct OperatorKind
{
    const char* name;
    size_t least; ///< numbers
    size_t most;
};

constexpr OperatorKind kOperatorKinds[] = {{"conv", 4, 5},
                                           {"conv+bias", 4, 5},
                                           {"bn", 0, 0},
                                           {"relu", 0, 0},
                                           {"maxpool", 3, 3},
                                           {"avgpool", 0, 3},
                                           {"linear", 1, 1},
                                           {"dropout", 0, 0},
                                           {"lstm", 1, 1},
                                           {"embedding", 2, 2},
                                           {"softmax", 0, 0}};

/// An operator. \param first whether its layer is the model's first \return a message if it is
/// malformed
std::string
Apply(const nlohmann::json& op, bool first, Part& part, Shape& x)
{
    if (op.is_object())
    {
        return Concatenate(op, part, x);
    }
    if (!op.is_array() || op.empty() || !op[0].is_string())
    {
        return "must be a list whose first element is the operator's name, e.g. [\"conv\", 64, 7, "
               "2, 3], or {\"concat\": ...}";
    }
    const std::string kind = op[0].get<std::string>();
    const OperatorKind* known = nullptr;
    std::string names;
    for (const OperatorKind& k : kOperatorKinds)
    {
        known = kind == k.name ? &k : known;
        names += std::string(names.empty() ? "" : ", ") + k.name;
    }
    if (known == nullptr)
    {
        return "\"" + rdma::Shown(kind, 60) + "\" is not an operator; there are " + names;
    }
    std::string how;
    if (kind == "linear" && op.size() == 3 && op[2].is_string())
    {
        how = op[2].get<std::string>();
        if (how != "columns" && how != "rows")
        {
            return "\"" + rdma::Shown(how, 60) + "\" is not columns or rows";
        }
    }
    Numbers n;
    if (const std::string e = ReadNumbers(op, op.size() - (how.empty() ? 0 : 1), n); !e.empty())
    {
        return e;
    }
    const bool window = kind == "avgpool" && n.size() == 3;
    if (n.size() < known->least || n.size() > known->most ||
        (kind == "avgpool" && !n.empty() && !window))
    {
        return "\"" + kind + "\" needs " + std::to_string(known->least) +
               (known->most > known->least ? " or " + std::to_string(known->most) : "") +
               " numbers, not " + std::to_string(n.size());
    }
    if (x.divided && kind != "linear" && kind != "relu" && kind != "dropout")
    {
        return kDivided;
    }
    const double before = x.Elements();
    if (kind == "conv" || kind == "conv+bias")
    {
        return Convolution(n, kind == "conv+bias", part, x);
    }
    if (kind == "linear")
    {
        return LinearLayer(n[0][0], how, first && part.operators.empty(), part, x);
    }
    if (kind == "lstm")
    {
        return Lstm(n[0][0], part, x);
    }
    if (kind == "embedding")
    {
        return Embed(n, part, x);
    }
    if (kind == "maxpool" || window)
    {
        if (!Slide(x, n[0], n[1], n[2]))
        {
            return kNothingLeft;
        }
        AddPointwise(part, {before + x.Elements(), 0, 0});
        if (kind == "maxpool") // an average's gradient needs no values
        {
            part.kept.push_back({{2 * before, 0, 0}});
        }
    }
    else if (kind == "avgpool")
    {
        x.height = x.width = 1;
        AddPointwise(part, {before + x.Elements(), 0, 0});
    }
    else if (kind == "bn")
    {
        // Training reads the input twice (statistics, then normalization) and writes once. Backward
        // reads input and gradient twice (sums, then the gradient, which it writes).
        part.tensors.insert(part.tensors.end(), {{x.channels}, {x.channels}});
        AddPointwise(part, {3 * before, 0, 0});
        part.operators.back().backward = 5.0 / 3;
        part.kept.push_back({{2 * before, 0, 0}});
    }
    else if (kind == "softmax")
    {
        // As a language model's: four passes, and kept in 32 bits.
        AddPointwise(part, {4 * before, 0, 0});
        part.kept.push_back({{4 * before, 0, 0}});
    }
    else // relu, dropout
    {
        // In place; what backward needs of it is the output, which the next operator keeps.
        AddPointwise(part, {2 * before, 0, 0}, x.divided ? Split::kTensor : Split::kWhole);
        part.operators.back().backward = 3.0 / 2; // output and gradient read, gradient written
    }
    return "";
}

/// One entry of "layers", once or repeated.
void
BuildLayer(ModelSpec& model, topo::JsonObject& r, Shape& x)
{
    std::string name;
    r.Name("name", name, topo::Need::kOptional);
    bool residual = false;
    bool aside = false;
    uint32_t repeat = 1;
    uint32_t first = 0;
    r.Flag("residual", residual);
    r.Flag("aside", aside);
    r.Whole("repeat", repeat, 1, 10000);
    if (r.Has("repeat"))
    {
        r.Whole("first", first, 0, 10000);
    }
    const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json& ops = r.Has("ops") ? r.At("ops") : none;
    const nlohmann::json& shortcut = r.Has("shortcut") ? r.At("shortcut") : none;
    if (r.Has("shortcut") && !residual)
    {
        r.Say("shortcut", "has no meaning without \"residual\": true");
    }
    for (uint32_t i = 0; i < repeat; ++i)
    {
        LayerSpec layer;
        Part part;
        layer.name = r.Has("repeat") ? name + "." + std::to_string(first + i) : name;
        x.made = -1;
        const Shape start = x;
        layer.checkpointBytes = {2 * start.Elements(), 0, 0};
        Shape side = start; // a projection on the way around
        for (const auto& [key, list, shape] :
             {std::tuple("ops", &ops, &x), std::tuple("shortcut", &shortcut, &side)})
        {
            std::string where = key;
            const std::string error = ApplyAll(*list, model.layers.empty(), part, *shape, where);
            if (!error.empty())
            {
                r.Say(where, error);
                return;
            }
        }
        if (residual)
        {
            if (side.divided || x.divided || side.channels != x.channels ||
                side.height != x.height || side.width != x.width)
            {
                r.Say("residual", "the two inputs of the sum have different shapes");
                return;
            }
            // Sum: 2 reads, 1 write; the rectifier after it: 2. Backward: the rectifier's 3; the
            // sum of the gradients of the two ways, 3.
            AddPointwise(part, {5 * x.Elements(), 0, 0});
            part.operators.back().backward = 6.0 / 5;
            Link(part, part.operators.size() - 1, {x.made, side.made}, x);
        }
        if (aside)
        {
            if (x.divided && !start.divided)
            {
                r.Say("ops", "end behind a linear layer by \"columns\", without one by \"rows\"");
                return;
            }
            x = start;
        }
        part.leaves = x.made;
        layer.output = {x.Elements(), 0, 0};
        layer.parts.push_back(std::move(part));
        model.layers.push_back(std::move(layer));
    }
}

} // namespace

void
BuildOperators(ModelSpec& model, topo::JsonObject& in)
{
    Shape x;
    if (in.Has("image"))
    {
        uint64_t size = 1;
        x.channels = 3;
        in.Whole("image", size, 1, 1 << 14);
        in.Whole("channels", x.channels, 1, 1 << 14);
        x.height = x.width = size;
    }
    else
    {
        in.Whole("input", x.channels, 1, kMostNumber, topo::Need::kRequired);
    }
    in.Whole("steps", x.steps, 1, 1 << 20);
    model.hasSequence = false;
    model.sequence = 1;
    if (!in.Has("layers") || !in.At("layers").is_array() || in.At("layers").empty())
    {
        in.Say("layers", "must be a list of layers, each with \"name\" and \"ops\"");
        return;
    }
    size_t index = 0;
    for (const auto& entry : in.At("layers"))
    {
        topo::JsonObject r = in.Inner(entry, "layers/" + std::to_string(index++));
        BuildLayer(model, r, x);
        r.Finish();
        if (in.TooMany())
        {
            return;
        }
    }
    if (x.divided)
    {
        in.Say("layers", "end behind a linear layer by \"columns\", without one by \"rows\"");
    }
}

} // namespace training
