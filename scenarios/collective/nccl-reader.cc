/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/nccl-reader.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/nccl-names.h"
#include "scenarios/collective/nccl-variables.h"
#include "scenarios/options/said.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <map>
#include <set>

namespace scenario
{

namespace
{

/// More say nothing more.
constexpr std::size_t kMostErrors = 20;

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

/// The part of NCCL_ALGO or NCCL_PROTO for one operation.
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
        // If several variables set one bound, the most restrictive counts.
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
            {m_v->values.Where(&asked::Collective::ncclEnv), name + "=" + value, problem, nearest});
    }

    void Note(const std::string& text)
    {
        m_limits->notes.push_back(text);
        m_v->notes.push_back(m_v->values.Where(&asked::Collective::ncclEnv) + ": " + text);
    }

    void Unknown(const std::string& name, const std::string& value)
    {
        if (m_v->values.Get(&asked::Collective::ncclEnv) == kNcclEnvironment)
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
             name.rfind(kNcclPrefix, 0) == 0
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
            TakeSelections(variable.name, value, kNcclAlgorithms, true);
            break;
        case NcclUse::kProtocol:
            TakeSelections(variable.name, value, kNcclProtocols, false);
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
            else if (number > 0 && std::string(variable.name) == "NCCL_PAT_ENABLE")
            {
                Note(variable.name + "=" + value +
                     " changes nothing: auto takes pat for groups with one rank a server, where "
                     "NCCL expects it to be faster; for others there is none here, and "
                     "--algorithm=pat takes it for all sizes");
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
                Note(SaidText(m_v->table, m_v->values, option) + " wins over " + name + "=" +
                     value);
            }
            return;
        }
        m_v->Decide(option, value);
    }

    void TakeChannels(const NcclVariable& variable, uint32_t channels)
    {
        if (m_v->values.Given(&asked::Collective::channels))
        {
            Note(m_v->values.Where(&asked::Collective::channels) + "=" +
                 m_v->values.Raw(&asked::Collective::channels) + " wins over " + variable.name +
                 "=" + std::to_string(channels));
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
        if (!algorithms && m_v->values.Get(&asked::Collective::library) == "none")
        {
            Note(m_v->values.Where(&asked::Collective::library) + "=none wins over " + variable);
        }
        else if (!algorithms && m_v->values.Given(&asked::Collective::protocol) &&
                 m_v->values.Get(&asked::Collective::protocol) != "auto")
        {
            Note(m_v->values.Where(&asked::Collective::protocol) + "=" +
                 m_v->values.Get(&asked::Collective::protocol) + " wins over " + variable + "=" +
                 value);
        }
    }

    /// The limit if only algorithms with switches between servers are left: they have to be named,
    /// and this names them.
    static void TakeRestInSwitches(coll::Op op, NcclLimits::Selection* limit)
    {
        std::vector<std::string> left;
        for (const NcclName& pair : kNcclAlgorithms)
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
                    std::find_if(std::begin(table), std::end(table), [&](const NcclName& p) {
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
            for (const NcclFunction& f : kNcclFunctions)
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
        for (const NcclName& pair : kNcclAlgorithms)
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

} // namespace

void
TakeNcclVariables(Validation* v, const NcclVariables& variables, NcclLimits* limits)
{
    Reader(v).Read(variables, limits);
}

} // namespace scenario
