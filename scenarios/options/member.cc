/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/member.h"

#include "scenarios/options/options.h"

#include <map>
#include <mutex>
#include <stdexcept>

namespace scenario
{

namespace
{

using TableMaker = const OptionTable& (*)();

/// Rows by member. A table is asked when the ones before it do not have a member: most runs need
/// their own alone.
class Rows
{
  public:
    void Add(TableMaker table)
    {
        m_tables.push_back(table);
    }

    void Add(const std::map<Member, std::string>& rows)
    {
        const std::lock_guard lock(m_mutex);
        for (const auto& [member, option] : rows)
        {
            if (m_options.emplace(member, option).first->second != option)
            {
                throw std::logic_error("--" + option + " has the member of another option");
            }
        }
    }

    const std::string& Find(Member member)
    {
        // Making a table adds its rows, too: without the lock.
        for (std::unique_lock lock(m_mutex);; lock.lock())
        {
            const auto found = m_options.find(member);
            if (found != m_options.end())
            {
                return found->second;
            }
            if (m_next == m_tables.size())
            {
                throw std::logic_error("a member without a row");
            }
            const TableMaker table = m_tables[m_next++];
            lock.unlock();
            Add(*table().ByMember());
        }
    }

    static Rows& All()
    {
        static Rows rows;
        return rows;
    }

  private:
    std::mutex m_mutex;
    std::vector<TableMaker> m_tables;
    std::size_t m_next = 0;
    std::map<Member, std::string> m_options;
};

} // namespace

RegisteredTable::RegisteredTable(TableMaker table)
{
    Rows::All().Add(table);
}

void
KnowRows(const std::map<Member, std::string>& rows)
{
    Rows::All().Add(rows);
}

const std::string&
OptionOf(Member member)
{
    return Rows::All().Find(member);
}

std::string
Spell(Member member)
{
    return "--" + OptionOf(member);
}

} // namespace scenario
