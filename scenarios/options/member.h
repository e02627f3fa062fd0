/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Members of structs as names of options: a row is bound to one (Option::As), and rules, problems
 * and decisions name it.
 *
 *   section.Integer("zero", "ZeRO stage").As(&asked::Training::zero)
 *   v->Fail(&asked::Training::zero, "needs " + Spell(&asked::Training::pp) + "=1")
 *
 * The compiler knows members, and only the row of an option knows how users write it.
 */
#ifndef SCENARIOS_OPTIONS_MEMBER_H
#define SCENARIOS_OPTIONS_MEMBER_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

namespace scenario
{

struct OptionTable;

/// A member of a struct of scenarios/asked.
class Member
{
  public:
    template <class S, class T>
    Member(T S::*member) // implicit: members are arguments of many calls
        : m_type(typeid(S))
    {
        static_assert(sizeof member == sizeof m_offset, "a pointer to data is an offset");
        std::memcpy(&m_offset, &member, sizeof m_offset);
    }

    bool operator<(const Member& other) const
    {
        return std::tie(m_type, m_offset) < std::tie(other.m_type, other.m_offset);
    }

    bool operator==(const Member& other) const
    {
        return m_type == other.m_type && m_offset == other.m_offset;
    }

  private:
    std::type_index m_type;
    std::ptrdiff_t m_offset = 0;
};

/// \return the option whose row is bound to the member in some program: "zero". A member without a
/// row is a mistake of the program: std::logic_error
const std::string& OptionOf(Member member);

/// \return the option as users write it: "--zero"
std::string Spell(Member member);

/// Makes the rows of a table known to OptionOf(), which would find them later.
void KnowRows(const std::map<Member, std::string>& rows);

/// Makes the rows of a table known to OptionOf() when no other table has a member.
class RegisteredTable
{
  public:
    explicit RegisteredTable(const OptionTable& (*table)());
};

/// Entries of options that may be given several times: keys and values, in their order.
using Entries = std::vector<std::vector<std::pair<std::string, std::string>>>;

/// A number, or another word that says how to find it ("auto"): then the number is 0.
struct NumberOrWord
{
    uint64_t number = 0;
    std::string word;
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_MEMBER_H
