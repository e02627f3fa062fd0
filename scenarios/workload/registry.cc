/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/registry.h"

#include <algorithm>
#include <stdexcept>

namespace workload
{

namespace
{

std::vector<Kind>&
All()
{
    static std::vector<Kind> kinds;
    return kinds;
}

} // namespace

const std::vector<Kind>&
Kinds()
{
    return All();
}

const Kind*
Find(const std::string& name)
{
    const auto& all = All();
    const auto found = std::find_if(all.begin(), all.end(), [&name](const Kind& kind) {
        return kind.name == name;
    });
    return found == all.end() ? nullptr : &*found;
}

void
Register(Kind kind)
{
    if (Find(kind.name))
    {
        throw std::logic_error("two workloads are called " + kind.name);
    }
    auto& all = All();
    const auto place =
        std::upper_bound(all.begin(), all.end(), kind, [](const Kind& a, const Kind& b) {
            return a.name < b.name;
        });
    all.insert(place, std::move(kind));
}

} // namespace workload
