/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --help and --list say of algorithms.
 */
#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/common-options.h"

#include <algorithm>
#include <set>

namespace scenario
{

std::vector<NamedItem>
AlgorithmItems()
{
    std::vector<NamedItem> items;
    for (const coll::Op op : coll::AllOps())
    {
        for (const coll::Algorithm* a : coll::AlgorithmsFor(op))
        {
            const std::string line = coll::OpName(op) + ": " + a->Description();
            const auto it = std::find_if(items.begin(), items.end(), [&](const NamedItem& i) {
                return i.name == a->Name();
            });
            if (it == items.end())
            {
                items.push_back({a->Name(), line});
            }
            else
            {
                it->description += "; " + line;
            }
        }
    }
    return items;
}

namespace
{

/// An algorithm's operations that say the same, together.
struct Described
{
    std::string ops;
    const coll::Algorithm* algorithm;
};

bool
SaySame(const coll::Algorithm& a, const coll::Algorithm& b)
{
    return a.Description() == b.Description() && a.Facts().time == b.Facts().time;
}

std::vector<Described>
DescribedOperations(const std::string& name)
{
    std::vector<Described> all;
    for (const coll::Op op : coll::AllOps())
    {
        const coll::Algorithm* algorithm = coll::Find(op, name);
        if (!algorithm)
        {
            continue;
        }
        const auto same = std::find_if(all.begin(), all.end(), [&](const Described& d) {
            return SaySame(*d.algorithm, *algorithm);
        });
        if (same == all.end())
        {
            all.push_back({coll::OpName(op), algorithm});
        }
        else
        {
            same->ops += ", " + coll::OpName(op);
        }
    }
    return all;
}

/// "--channels, --pipeline; --levels of all_reduce".
std::string
ReadsText(const std::string& name)
{
    std::string text;
    for (const coll::Knob knob : coll::AllKnobs())
    {
        std::vector<std::string> readers;
        std::size_t ops = 0;
        for (const coll::Op op : coll::AllOps())
        {
            const coll::Algorithm* algorithm = coll::Find(op, name);
            ops += algorithm != nullptr;
            if (algorithm && algorithm->Reads(knob))
            {
                readers.push_back(coll::OpName(op));
            }
        }
        if (!readers.empty())
        {
            text += (text.empty() ? "--" : ", --") + coll::KnobName(knob) +
                    (readers.size() < ops ? " (" + Join(readers, ", ") + ")" : "");
        }
    }
    return text.empty() ? "no option" : text;
}

} // namespace

std::string
AlgorithmsText()
{
    static constexpr std::size_t kIndent = 17;
    std::string text;
    WrapText(&text,
             "Collective algorithms (--algorithm): for each its operations, what it does and its "
             "time by formula; the options that it reads; where it is from. n ranks on k servers "
             "of g GPUs, S bytes as nccl-tests counts them, alpha the latency of a message, beta "
             "the time of a byte.",
             0,
             0);
    const auto line = [&text](std::string left, const std::string& right) {
        left.resize(std::max(kIndent, left.size() + 1), ' ');
        text += left;
        WrapText(&text, right, left.size(), kIndent);
    };
    for (const NamedItem& item : AlgorithmItems())
    {
        text += "\n  " + item.name + "\n";
        std::set<std::string> sources;
        for (const Described& d : DescribedOperations(item.name))
        {
            line("    " + d.ops, d.algorithm->Description());
            line("", "time: " + d.algorithm->Facts().time);
            sources.insert(d.algorithm->Facts().source);
        }
        line("    reads", ReadsText(item.name));
        line("    source", Join({sources.begin(), sources.end()}, "; "));
    }
    return text;
}

NameList
AlgorithmList()
{
    return {"algorithms",
            "Collective algorithms (--algorithm) and the operations they do; with their times, "
            "options and sources: --help=algorithms",
            AlgorithmItems,
            AlgorithmsText};
}

} // namespace scenario
