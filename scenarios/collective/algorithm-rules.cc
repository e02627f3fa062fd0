/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/algorithm-rules.h"

#include "collectives/core/registry.h"
#include "collectives/msccl/msccl-xml.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/common-options.h"

#include <utility>

namespace scenario
{

namespace
{

/// How a schedule's file ends (collectives/msccl/msccl-xml.h).
const std::string kFile = ".xml";

std::vector<std::string>
OpNames()
{
    std::vector<std::string> names;
    for (const coll::Op op : coll::AllOps())
    {
        names.push_back(coll::OpName(op));
    }
    return names;
}

} // namespace

AlgorithmRules::AlgorithmRules(Validation* v,
                               const std::vector<coll::Collective>& used,
                               std::string option)
    : m_v(v),
      m_used(used),
      m_option(std::move(option)),
      m_items(AlgorithmItems())
{
    m_items.insert(m_items.begin(), {kAutoAlgorithm, ""});
}

std::string
AlgorithmRules::Read(const std::string& word, std::vector<AlgorithmRule>* rules)
{
    const auto equals = word.find('=');
    std::vector<coll::Op> ops = coll::AllOps();
    std::string canonical;
    if (equals != std::string::npos)
    {
        const auto op = coll::ParseOp(word.substr(0, equals));
        if (!op)
        {
            return Fail(word,
                        "unknown operation; allowed: " + Join(OpNames(), ", "),
                        rdma::NearestName(word.substr(0, equals), OpNames()));
        }
        ops = {*op};
        canonical = coll::OpName(*op) + "=";
        if (!m_seen.insert(*op).second)
        {
            return Fail(word, "is a second algorithm for " + coll::OpName(*op), "");
        }
    }
    else if (m_all++)
    {
        return Fail(word, "is a second algorithm for all operations", "");
    }
    std::string rest = word.substr(equals == std::string::npos ? 0 : equals + 1);
    for (bool first = true; first || !rest.empty(); first = false)
    {
        const auto end = rest.find(';');
        const std::string part = rest.substr(0, end);
        rest = end == std::string::npos ? "" : rest.substr(end + 1);
        const std::string read = ReadPart(word, part, ops, equals != std::string::npos, rules);
        if (read.empty())
        {
            return "";
        }
        canonical += (first ? "" : ";") + read;
    }
    return canonical;
}

std::string
AlgorithmRules::Fail(const std::string& word,
                     const std::string& problem,
                     const std::string& nearest)
{
    m_v->errors.push_back({m_v->values.Where(m_option), word, problem, nearest});
    return "";
}

std::string
AlgorithmRules::ReadRange(const std::string& range, AlgorithmRule* rule)
{
    const auto dash = range.find('-');
    const auto from = rdma::ParseBytes(range.substr(0, dash));
    const std::string to = dash == std::string::npos ? "" : range.substr(dash + 1);
    const auto below = to.empty() ? rdma::Bytes(UINT64_MAX) : rdma::ParseBytes(to);
    if (dash == std::string::npos || !from || !below || from->value >= below->value)
    {
        return "";
    }
    rule->from = from->value;
    rule->below = below->value;
    return CanonicalBytes(rule->from) + "-" + (to.empty() ? "" : CanonicalBytes(rule->below));
}

std::string
AlgorithmRules::ReadPart(const std::string& word,
                         const std::string& part,
                         const std::vector<coll::Op>& ops,
                         bool named,
                         std::vector<AlgorithmRule>* rules)
{
    const auto at = part.find('@');
    const std::string wanted = part.substr(0, at);
    std::string name = MatchName(wanted, m_items);
    if (wanted.size() > kFile.size() &&
        wanted.compare(wanted.size() - kFile.size(), kFile.size(), kFile) == 0)
    {
        const std::string why = coll::RegisterMscclFile(wanted);
        if (!why.empty())
        {
            return Fail(word, why, "");
        }
        name = wanted;
    }
    if (name.empty())
    {
        return Fail(word,
                    "unknown algorithm; allowed: " + JoinNames(m_items) +
                        ", or a schedule's FILE.xml",
                    NearestName(wanted, m_items));
    }
    AlgorithmRule rule;
    rule.name = name;
    rule.ofAll = !named;
    std::string canonical = name;
    if (at != std::string::npos)
    {
        const std::string range = part.substr(at + 1);
        const std::string written = ReadRange(range, &rule);
        if (written.empty())
        {
            return Fail(word,
                        "\"" + range +
                            "\" is no range of sizes; allowed: FROM-TO or FROM-, "
                            "from FROM on and below TO, as 0-64K and 64K-",
                        "");
        }
        canonical += "@" + written;
    }
    if (name == kAutoAlgorithm)
    {
        for (const coll::Op op : ops) // in place of what came before
        {
            rule.op = op;
            rules->push_back(rule);
        }
        return canonical;
    }
    for (const coll::Op op : ops)
    {
        if (coll::Find(op, name))
        {
            rule.op = op;
            rules->push_back(rule);
        }
        else if (named)
        {
            return Fail(word,
                        "does not do " + coll::OpName(op) +
                            "; allowed for it: " + coll::AlgorithmNames(op),
                        "");
        }
    }
    for (const auto& collective : m_used)
    {
        if (!named && !coll::Find(collective.op, name))
        {
            return Fail(word,
                        "does not do " + coll::OpName(collective.op) +
                            ", which this run needs; allowed for it: " +
                            coll::AlgorithmNames(collective.op) + "; choose by operation, OP=NAME",
                        "");
        }
    }
    return canonical;
}

} // namespace scenario
