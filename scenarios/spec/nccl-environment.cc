/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/nccl-environment.h"

#include "collectives/placement.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/nccl-variables.h"
#include "topologies/family.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <set>

extern char** environ; // POSIX

namespace scenario
{

namespace
{

const std::string kPrefix = "NCCL_";
constexpr const char* kEnvironment = "environment";
/// More say nothing more.
constexpr std::size_t kMostErrors = 20;

/// A name of NCCL's and ours.
struct Pair
{
    const char* nccl;
    const char* ours;
};

/// The table of NCCL_ALGO in the user guide; its Collnet ended with 2.13.
constexpr Pair kAlgorithms[] = {{"Ring", "ring"},
                                {"Tree", "double-binary-tree"},
                                {"CollnetChain", "collnet-chain"},
                                {"CollnetDirect", "collnet-direct"},
                                {"NVLS", "nvls"},
                                {"NVLSTree", "nvls-tree"},
                                {"PAT", "pat"}};

constexpr Pair kProtocols[] = {{"LL", "ll"}, {"LL128", "ll128"}, {"Simple", "simple"}};

/// The functions that parseList knows (ncclFuncStr).
struct Function
{
    const char* name;
    coll::Op op;
};

constexpr Function kFunctions[] = {{"Broadcast", coll::Op::kBroadcast},
                                   {"Reduce", coll::Op::kReduce},
                                   {"AllGather", coll::Op::kAllGather},
                                   {"ReduceScatter", coll::Op::kReduceScatter},
                                   {"AllReduce", coll::Op::kAllReduce}};

template <class Table>
std::vector<std::string>
NamesOf(const Table& table)
{
    std::vector<std::string> names;
    for (const auto& row : table)
    {
        names.emplace_back(row.nccl);
    }
    return names;
}

/// What one of NCCL_ALGO and NCCL_PROTO says of an operation.
struct Selection
{
    std::vector<std::string> names; ///< ours
    bool except = false;
};

bool
IsKnownHere(const std::string& algorithm)
{
    return std::any_of(coll::AllOps().begin(), coll::AllOps().end(), [&](coll::Op op) {
        return coll::Find(op, algorithm) != nullptr;
    });
}

/// Reads the variables of one run.
class Reader
{
  public:
    explicit Reader(Validation* v)
        : m_v(v)
    {
    }

    void Read(const NcclVariables& variables, NcclLimits* limits)
    {
        m_variables = variables;
        m_limits = limits;
        std::set<std::string> seen;
        const std::size_t before = m_v->errors.size();
        for (const auto& [name, value] : variables)
        {
            if (m_v->errors.size() - before >= kMostErrors)
            {
                return;
            }
            if (!seen.insert(name).second)
            {
                Fail(name, value, "is given twice");
                continue;
            }
            const NcclVariable* variable = FindNcclVariable(name);
            if (!variable)
            {
                Unknown(name, value);
                continue;
            }
            Take(*variable, value);
        }
        // Of several for one thing the most restrictive counts.
        if (m_limits->minChannels && m_limits->maxChannels &&
            m_limits->minChannels > m_limits->maxChannels)
        {
            Fail(m_minName,
                 std::to_string(m_limits->minChannels),
                 "allowed: at most " + m_maxName + ", " + std::to_string(m_limits->maxChannels));
        }
        if (!m_without.empty())
        {
            Note("without meaning here: " + Join(m_without, ", "));
        }
    }

  private:
    void Fail(const std::string& name,
              const std::string& value,
              const std::string& problem,
              const std::string& nearest = "")
    {
        m_v->errors.push_back(
            {m_v->values.Where("nccl-env"), name + "=" + value, problem, nearest});
    }

    void Note(const std::string& text)
    {
        m_limits->notes.push_back(text);
        m_v->notes.push_back(m_v->values.Where("nccl-env") + ": " + text);
    }

    void Unknown(const std::string& name, const std::string& value)
    {
        if (m_v->values.Text("nccl-env") == kEnvironment)
        {
            // Modules and other programs have theirs there: NCCL_HOME, NCCL_TESTS_DEVICE.
            m_without.push_back(name);
            return;
        }
        std::vector<std::string> names;
        for (const auto& variable : AllNcclVariables())
        {
            names.push_back(variable.name);
        }
        Fail(name,
             value,
             name.rfind(kPrefix, 0) == 0
                 ? "no such variable is known of NCCL; allowed: those of --help=nccl-env"
                 : "allowed: variables of NCCL, which begin with NCCL_",
             rdma::NearestName(name, names));
    }

    /// A whole number. \return whether it is one of low to high
    bool Number(const std::string& name,
                const std::string& value,
                uint64_t low,
                uint64_t high,
                const std::string& why,
                uint64_t* number)
    {
        const bool digits = !value.empty() && value.size() < 10 &&
                            value.find_first_not_of("0123456789") == std::string::npos;
        *number = digits ? std::stoull(value) : 0;
        if (!digits || *number < low || *number > high)
        {
            Fail(name,
                 value,
                 why + "allowed: a whole number, " + std::to_string(low) + " to " +
                     std::to_string(high));
            return false;
        }
        return true;
    }

    void Take(const NcclVariable& variable, const std::string& value)
    {
        uint64_t number = 0;
        switch (variable.use)
        {
        case NcclUse::kAlgorithm:
            TakeSelections(variable.name, value, kAlgorithms, true);
            break;
        case NcclUse::kProtocol:
            TakeSelections(variable.name, value, kProtocols, false);
            break;
        case NcclUse::kMinChannels:
        case NcclUse::kMaxChannels:
            if (Number(variable.name, value, 1, coll::kMaxChannels, "", &number))
            {
                TakeChannels(variable, static_cast<uint32_t>(number));
            }
            break;
        case NcclUse::kTimeout:
            if (Number(variable.name,
                       value,
                       1,
                       31,
                       "others stand for no time-out at all, which queue pairs here do not have; ",
                       &number))
            {
                Decide("timeout-exponent", variable.name, value);
            }
            break;
        case NcclUse::kRetries:
            if (Number(variable.name, value, 0, 7, "", &number))
            {
                Decide("retry-count", variable.name, value);
            }
            break;
        case NcclUse::kQueuePairs:
            if (Number(variable.name, value, 1, ConnectionSpec::kMostQueuePairs, "", &number))
            {
                Decide("qps-per-connection", variable.name, value);
            }
            break;
        case NcclUse::kSplit:
            if (Number(variable.name, value, 0, 1, "", &number))
            {
                Decide("split-data-on-qps", variable.name, value);
            }
            break;
        case NcclUse::kSwitch:
            if (Number(variable.name, value, 0, 2, "", &number) && number == 0)
            {
                for (const char* algorithm : variable.algorithms)
                {
                    m_limits->except.emplace_back(algorithm);
                }
            }
            else if (number > 0 && std::string(variable.name) == "NCCL_COLLNET_ENABLE")
            {
                Note(variable.name + "=" + value +
                     " alone has no effect here: auto takes no switches between servers; name them "
                     "with NCCL_ALGO=CollnetDirect or --algorithm");
            }
            break;
        case NcclUse::kOnly:
            if (std::none_of(variable.allowed.begin(),
                             variable.allowed.end(),
                             [&](const std::string& a) { return boost::iequals(a, value); }))
            {
                Fail(variable.name,
                     value,
                     variable.help + "; allowed: " + boost::join(variable.allowed, ", "));
            }
            break;
        case NcclUse::kElsewhere:
            Note(variable.name + " has no effect here: " + variable.help);
            break;
        case NcclUse::kNothing:
            m_without.push_back(variable.name);
            break;
        }
    }

    /// A value of an option, unless that was given.
    void Decide(const std::string& option, const std::string& name, const std::string& value)
    {
        if (m_v->values.Given(option))
        {
            if (m_v->values.Raw(option) != value)
            {
                Note(m_v->values.Where(option) + "=" + m_v->values.Raw(option) + " wins over " +
                     name + "=" + value);
            }
            return;
        }
        m_v->Decide(option, value);
    }

    void TakeChannels(const NcclVariable& variable, uint32_t channels)
    {
        if (m_v->values.Given("channels"))
        {
            Note(m_v->values.Where("channels") + "=" + m_v->values.Raw("channels") + " wins over " +
                 variable.name + "=" + std::to_string(channels));
            return;
        }
        const bool least = variable.use == NcclUse::kMinChannels;
        uint32_t& bound = least ? m_limits->minChannels : m_limits->maxChannels;
        std::string& boundName = least ? m_minName : m_maxName;
        // An older name counts only without its newer one.
        for (const char* newer : variable.behind)
        {
            if (std::any_of(m_variables.begin(), m_variables.end(), [&](const auto& other) {
                    return other.first == newer;
                }))
            {
                Note(std::string(newer) + " wins over " + variable.name);
                return;
            }
        }
        if (bound == 0 || (least ? channels > bound : channels < bound))
        {
            bound = channels;
            boundName = variable.name;
        }
    }

    template <class Table>
    void TakeSelections(const std::string& variable,
                        const std::string& value,
                        const Table& table,
                        bool algorithms)
    {
        std::map<coll::Op, Selection> selections;
        if (!ReadSelections(variable, value, table, algorithms, &selections))
        {
            return;
        }
        for (const auto& [op, selection] : selections)
        {
            NcclLimits::Selection& limit = m_limits->ofOp[op];
            if (algorithms && selection.except)
            {
                limit.except = selection.names;
                TakeRestInSwitches(op, &limit);
            }
            else if (algorithms)
            {
                limit.limited = true;
                for (const std::string& name : selection.names)
                {
                    if (coll::Find(op, name))
                    {
                        limit.only.push_back(name);
                    }
                }
            }
            else
            {
                for (const topo::Protocol protocol : topo::kChoosableProtocols)
                {
                    const bool named = std::find(selection.names.begin(),
                                                 selection.names.end(),
                                                 topo::ToString(protocol)) != selection.names.end();
                    if (named != selection.except)
                    {
                        limit.protocols.push_back(protocol);
                    }
                }
                if (limit.protocols.empty())
                {
                    Fail(variable, value, "leaves no protocol; allowed: one of LL, LL128, Simple");
                    return;
                }
            }
        }
        if (!algorithms && m_v->values.Text("library") == "none")
        {
            Note(m_v->values.Where("library") + "=none wins over " + variable);
        }
        else if (!algorithms && m_v->values.Given("protocol") &&
                 m_v->values.Text("protocol") != "auto")
        {
            Note(m_v->values.Where("protocol") + "=" + m_v->values.Text("protocol") +
                 " wins over " + variable + "=" + value);
        }
    }

    /// What is left of all, if only switches between servers do it: they are chosen where they are
    /// named, and this names them.
    static void TakeRestInSwitches(coll::Op op, NcclLimits::Selection* limit)
    {
        std::vector<std::string> left;
        for (const Pair& pair : kAlgorithms)
        {
            const coll::Algorithm* algorithm = coll::Find(op, pair.ours);
            if (!algorithm || std::find(limit->except.begin(), limit->except.end(), pair.ours) !=
                                  limit->except.end())
            {
                continue;
            }
            if (!algorithm->Uses().fabricSwitches || algorithm->Uses().serverSwitch)
            {
                return;
            }
            left.emplace_back(pair.ours);
        }
        if (!left.empty())
        {
            limit->limited = true;
            limit->only = left;
        }
    }

    /// "ring,tree", "^tree", "ring;allreduce:tree,ring;broadcast:^tree".
    template <class Table>
    bool ReadSelections(const std::string& variable,
                        const std::string& value,
                        const Table& table,
                        bool algorithms,
                        std::map<coll::Op, Selection>* selections)
    {
        std::vector<std::string> entries;
        boost::split(entries, value, boost::is_any_of(";"));
        for (std::size_t i = 0; i < entries.size(); ++i)
        {
            const auto colon = entries[i].find(':');
            const std::string function =
                colon == std::string::npos ? "" : entries[i].substr(0, colon);
            std::string list = entries[i].substr(colon == std::string::npos ? 0 : colon + 1);
            if (colon == std::string::npos && i > 0)
            {
                Fail(variable, value, "after the first ';' each list needs its FUNCTION:");
                return false;
            }
            Selection selection;
            selection.except = !list.empty() && list[0] == '^';
            list.erase(0, selection.except ? 1 : 0);
            std::vector<std::string> words;
            boost::split(words, list, boost::is_any_of(","));
            for (const std::string& word : words)
            {
                const auto row =
                    std::find_if(std::begin(table), std::end(table), [&](const Pair& p) {
                        return boost::iequals(p.nccl, word);
                    });
                if (row == std::end(table))
                {
                    Fail(variable,
                         value,
                         "'" + rdma::Shown(word, 60) +
                             "' is none of NCCL's; allowed: " + Join(NamesOf(table), ", "),
                         rdma::NearestName(word, NamesOf(table)));
                    return false;
                }
                if (algorithms && !selection.except && !IsKnownHere(row->ours))
                {
                    Fail(variable,
                         value,
                         std::string(row->nccl) + " would be --algorithm=" + row->ours +
                             ", which this version does not have; allowed: " + KnownHere());
                    return false;
                }
                selection.names.emplace_back(row->ours);
            }
            bool found = false;
            std::vector<std::string> functions;
            for (const Function& f : kFunctions)
            {
                functions.emplace_back(f.name);
                if (function.empty() || boost::iequals(function, f.name))
                {
                    found = true;
                    (*selections)[f.op] = selection;
                }
            }
            if (!found)
            {
                Fail(variable,
                     value,
                     "'" + rdma::Shown(function, 60) +
                         "' is no function of NCCL's; allowed: " + Join(functions, ", "),
                     rdma::NearestName(function, functions));
                return false;
            }
        }
        return true;
    }

    static std::string KnownHere()
    {
        std::vector<std::string> names;
        for (const Pair& pair : kAlgorithms)
        {
            if (IsKnownHere(pair.ours))
            {
                names.emplace_back(pair.nccl);
            }
        }
        return Join(names, ", ");
    }

    Validation* m_v;
    NcclVariables m_variables;
    NcclLimits* m_limits = nullptr;
    std::string m_minName;
    std::string m_maxName;
    std::vector<std::string> m_without;
};

NcclVariables
ReadEnvironment()
{
    NcclVariables variables;
    for (char** entry = environ; entry && *entry; ++entry)
    {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (text.rfind(kPrefix, 0) == 0 && equals != std::string::npos)
        {
            variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    std::sort(variables.begin(), variables.end()); // the environment has no order
    return variables;
}

/// As --nccl-env takes it.
std::string
TextOf(const NcclVariables& variables)
{
    std::vector<std::string> parts;
    for (const auto& [name, value] : variables)
    {
        parts.push_back(name + "=" + value);
    }
    return Join(parts, ",");
}

/// The variables whose 0 leaves an algorithm out.
std::vector<std::string>
SwitchedOffBy(const NcclLimits& nccl, const std::string& algorithm)
{
    std::vector<std::string> names;
    if (std::find(nccl.except.begin(), nccl.except.end(), algorithm) == nccl.except.end())
    {
        return names;
    }
    std::string problem;
    for (const auto& [name, value] : SplitNcclVariables(nccl.text, &problem))
    {
        const NcclVariable* variable = FindNcclVariable(name);
        if (variable && variable->use == NcclUse::kSwitch && !value.empty() &&
            value.find_first_not_of('0') == std::string::npos &&
            std::find(variable->algorithms.begin(), variable->algorithms.end(), algorithm) !=
                variable->algorithms.end())
        {
            names.push_back(name);
        }
    }
    return names;
}

/// What of the variables does not concern an operation that NCCL has no function for; empty:
/// nothing.
std::string
ForeignTo(coll::Op op, const NcclLimits& nccl)
{
    if (std::any_of(std::begin(kFunctions), std::end(kFunctions), [op](const Function& f) {
            return f.op == op;
        }))
    {
        return {};
    }
    const bool bounds = nccl.minChannels || nccl.maxChannels;
    if (nccl.ofOp.empty())
    {
        return bounds ? "channels" : "";
    }
    return bounds ? "algorithms, protocols and channels" : "algorithms and protocols";
}

/// Where the variables leave no algorithm, which do: "NCCL_ALGO leaves"; empty: there is one.
std::string
WhatLeavesNothing(const CollectiveOptions& options,
                  const coll::Collective& what,
                  const coll::Placement& placement)
{
    const auto has = [](const auto& list, const auto& one) {
        return std::find(list.begin(), list.end(), one) != list.end();
    };
    const NcclLimits& nccl = options.nccl;
    const NcclLimits::Selection& selection = nccl.ofOp.at(what.op);
    // If nothing is left, one that is left out.
    const coll::Algorithm& algorithm = *ChoiceOf(options, what, placement).algorithm;
    if (has(selection.except, algorithm.Name()) || (selection.limited && selection.only.empty()))
    {
        return "NCCL_ALGO leaves";
    }
    std::vector<std::string> names = SwitchedOffBy(nccl, algorithm.Name());
    const bool simple =
        selection.protocols.empty() || has(selection.protocols, topo::Protocol::kSimple);
    if (!simple && !options.protocol && options.machine.hasLibrary &&
        !coll::ProtocolsInSwitches(algorithm).empty())
    {
        names.emplace_back("NCCL_PROTO"); // what adds up in switches is for Simple only
    }
    return names.empty() ? "" : "NCCL_ALGO with " + Join(names, " and ") + " leaves";
}

} // namespace

NcclVariables
SplitNcclVariables(const std::string& text, std::string* problem)
{
    NcclVariables variables;
    std::string rest = text;
    while (!rest.empty())
    {
        const auto next = rest.find("," + kPrefix);
        const std::string one = rest.substr(0, next);
        rest = next == std::string::npos ? "" : rest.substr(next + 1);
        const auto equals = one.find('=');
        if (equals == std::string::npos || equals == 0)
        {
            *problem = "'" + rdma::Shown(one, 60) + "' is no NAME=VALUE";
            return {};
        }
        variables.emplace_back(boost::trim_copy(one.substr(0, equals)),
                               boost::trim_copy(one.substr(equals + 1)));
    }
    return variables;
}

NcclVariables
ParseNcclFile(const std::string& text, std::string* problem)
{
    NcclVariables variables;
    if (text.size() > kLargestNcclFile)
    {
        *problem = "is larger than 1 MiB";
        return {};
    }
    static const std::string mark = "\xEF\xBB\xBF"; // of UTF-8, by some editors
    const std::string body = text.rfind(mark, 0) == 0 ? text.substr(mark.size()) : text;
    std::vector<std::string> lines;
    boost::split(lines, body, boost::is_any_of("\n"));
    for (std::size_t i = 0; i < lines.size(); ++i)
    {
        const std::string line = boost::trim_copy(lines[i]);
        if (line.empty() || line[0] == '#')
        {
            continue;
        }
        const auto equals = line.find('=');
        if (equals == std::string::npos || equals == 0)
        {
            *problem = "line " + std::to_string(i + 1) + ": '" + rdma::Shown(line, 60) +
                       "' is no NAME=VALUE";
            return {};
        }
        variables.emplace_back(boost::trim_copy(line.substr(0, equals)),
                               boost::trim_copy(line.substr(equals + 1)));
    }
    return variables;
}

std::vector<Option>
NcclOptionRows()
{
    return {Opt("nccl-env",
                Kind::kText,
                "/collectives",
                "Collectives",
                "NCCL's variables as presets of these options: NCCL_A=x,NCCL_B=y; or a file with a "
                "line NAME=VALUE each, as nccl.conf; or environment: those that are set. What each "
                "does is in --help=nccl-env; options that are given win")
                .Shows("NAME=VALUE,...|FILE|environment")
                .Otherwise("none")
                .Example("NCCL_ALGO=ring,NCCL_PROTO=LL,Simple")};
}

NameList
NcclVariableList()
{
    return {"nccl-env", "NCCL's variables (--nccl-env) and what they do here", [] {
                std::vector<NamedItem> items;
                for (const auto& variable : AllNcclVariables())
                {
                    items.push_back({variable.name, Describe(variable)});
                }
                return items;
            }};
}

NcclLimits
ApplyNcclVariables(Validation* v)
{
    NcclLimits limits;
    if (!v->values.Given("nccl-env"))
    {
        return limits;
    }
    const std::string given = v->values.Text("nccl-env");
    NcclVariables variables;
    std::string problem;
    if (given == kEnvironment)
    {
        variables = ReadEnvironment();
    }
    else if (given.find('=') != std::string::npos)
    {
        variables = SplitNcclVariables(given, &problem);
    }
    else
    {
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(given, errors);
        if (!text)
        {
            v->Fail("nccl-env",
                    (errors.empty() ? "cannot be read" : errors[0].problem) +
                        "; allowed: NAME=VALUE,..., a file, or environment");
            return limits;
        }
        variables = ParseNcclFile(*text, &problem);
    }
    if (!problem.empty())
    {
        v->Fail("nccl-env", problem + "; allowed: NCCL_ALGO=ring,NCCL_PROTO=Simple and the like");
        return limits;
    }
    Reader(v).Read(variables, &limits);
    limits.text = TextOf(variables);
    // In the configuration as run it says what was set, wherever that stood.
    if (limits.text.empty())
    {
        v->notes.push_back(v->values.Where("nccl-env") + "=" + given + " has no variable of NCCL");
        v->values.Slot("nccl-env").present = false;
    }
    else
    {
        v->Decide("nccl-env", limits.text);
    }
    return limits;
}

bool
NcclAsksForSwitches(const NcclLimits& limits, coll::Op op)
{
    const auto limit = limits.ofOp.find(op);
    if (limit == limits.ofOp.end())
    {
        return false;
    }
    bool asks = false;
    bool doesWithout = false;
    for (const std::string& name : limit->second.only)
    {
        if (std::find(limits.except.begin(), limits.except.end(), name) != limits.except.end())
        {
            continue;
        }
        const coll::InNetwork uses = coll::Find(op, name)->Uses();
        asks = asks || uses.fabricSwitches;
        if (uses.fabricSwitches && !uses.serverSwitch)
        {
            return true;
        }
        doesWithout = doesWithout || !uses.fabricSwitches;
    }
    return asks && !doesWithout;
}

const coll::Algorithm*
NamedFor(const CollectiveOptions& options, const coll::Collective& what)
{
    const coll::Algorithm* named = nullptr;
    for (const AlgorithmRule& rule : options.algorithms)
    {
        if (rule.Covers(what))
        {
            named = coll::Find(rule.op, rule.name);
        }
    }
    return named;
}

std::string
NcclVariableAsSet(const NcclLimits& limits, const std::string& name)
{
    std::string problem;
    for (const auto& [its, value] : SplitNcclVariables(limits.text, &problem))
    {
        if (its == name)
        {
            return name + "=" + value;
        }
    }
    return {};
}

void
CheckNcclLimits(Validation* v,
                const CollectiveOptions& options,
                const std::vector<coll::Collective>& used,
                const coll::Placement& placement)
{
    const NcclLimits& nccl = options.nccl;
    std::set<std::string> notes;
    const auto tell = [&](const std::string& note) {
        if (notes.insert(note).second)
        {
            v->notes.push_back(v->values.Where("nccl-env") + ": " + note);
        }
    };
    std::map<std::string, std::set<coll::Op>> without; // by the variables
    for (const auto& what : used)
    {
        const std::string op = coll::OpName(what.op);
        const std::string wins = v->values.Where("algorithm") + " wins over ";
        const coll::Algorithm* named = NamedFor(options, what);
        if (named)
        {
            for (const std::string& off : SwitchedOffBy(nccl, named->Name()))
            {
                tell(wins + off + "=0 for " + op);
            }
        }
        const std::string foreign = ForeignTo(what.op, nccl);
        if (!foreign.empty())
        {
            tell(foreign + " of NCCL's variables are not those of " + op +
                 ", which has no function of its own there");
        }
        const auto limit = nccl.ofOp.find(what.op);
        if (limit == nccl.ofOp.end())
        {
            continue;
        }
        const auto& selection = limit->second;
        if (!selection.limited && selection.except.empty())
        {
            continue;
        }
        if (named)
        {
            tell(wins + "NCCL_ALGO for " + op);
            continue;
        }
        const std::string by = WhatLeavesNothing(options, what, placement);
        if (!by.empty())
        {
            without[by].insert(what.op);
        }
    }
    for (const auto& [by, ops] : without)
    {
        std::vector<std::string> texts;
        for (const coll::Op op : ops)
        {
            std::vector<std::string> has;
            for (const Pair& pair : kAlgorithms)
            {
                if (coll::Find(op, pair.ours))
                {
                    has.emplace_back(pair.nccl);
                }
            }
            texts.push_back(coll::OpName(op) + " (which has " + Join(has, ", ") + ")");
        }
        v->Fail("nccl-env",
                by + " no algorithm for " + Join(texts, ", ") +
                    ", and as in NCCL since 2.24 none is taken in its place; allowed: "
                    "\"ring;allreduce:tree\" and the like");
    }
}

} // namespace scenario
