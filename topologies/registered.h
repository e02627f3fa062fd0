/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Entries by name that register themselves, each in its own file:
 *
 *     const topo::Registered<SchedulerEntry> g_vllm({"vllm", ...});
 */
#ifndef TOPOLOGIES_REGISTERED_H
#define TOPOLOGIES_REGISTERED_H

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace topo
{

/// Makes an entry known while it lives. Throws std::logic_error if the name is taken.
/// \tparam Entry has a `name`, a `rank` (its place in lists; equal ones are sorted by name), and
/// `kWhat`, what such entries are called: "schedulers"
template <class Entry>
class Registered
{
  public:
    explicit Registered(Entry entry)
        : m_entry(std::move(entry))
    {
        if (Find(m_entry.name))
        {
            throw std::logic_error(std::string("two ") + Entry::kWhat + " are called " +
                                   m_entry.name);
        }
        const auto before = [](const Entry* a, const Entry* b) {
            return std::make_pair(a->rank, std::string(a->name)) <
                   std::make_pair(b->rank, std::string(b->name));
        };
        auto& all = Mutable();
        all.insert(std::upper_bound(all.begin(), all.end(), &m_entry, before), &m_entry);
    }

    ~Registered()
    {
        auto& all = Mutable();
        all.erase(std::remove(all.begin(), all.end(), &m_entry), all.end());
    }

    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

    static const std::vector<const Entry*>& All()
    {
        return Mutable();
    }

    /// nullptr: no such entry.
    static const Entry* Find(const std::string& name)
    {
        for (const Entry* entry : All())
        {
            if (entry->name == name)
            {
                return entry;
            }
        }
        return nullptr;
    }

    /// Throws std::logic_error if there is none.
    static const Entry& Get(const std::string& name)
    {
        const Entry* entry = Find(name);
        if (!entry)
        {
            throw std::logic_error(std::string("no ") + Entry::kWhat + " are called " + name);
        }
        return *entry;
    }

    static std::vector<std::string> Names()
    {
        return NamesWhere([](const Entry&) { return true; });
    }

    /// \param holds a predicate of an entry, or a member: &SchedulerEntry::joins
    template <class Holds>
    static std::vector<std::string> NamesWhere(Holds holds)
    {
        std::vector<std::string> names;
        for (const Entry* entry : All())
        {
            if (std::invoke(holds, *entry))
            {
                names.emplace_back(entry->name);
            }
        }
        return names;
    }

  private:
    static std::vector<const Entry*>& Mutable()
    {
        // Exists before the first file registers. Never destroyed: the last one to leave may be of
        // another library.
        static auto& all = *new std::vector<const Entry*>;
        return all;
    }

    const Entry m_entry;
};

} // namespace topo

#endif // TOPOLOGIES_REGISTERED_H
