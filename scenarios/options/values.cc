/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/values.h"

#include "scenarios/options/options.h"

#include <stdexcept>

namespace scenario
{

const Value&
Values::operator[](const std::string& name) const
{
    const auto it = m_values.find(name);
    if (it == m_values.end())
    {
        throw std::logic_error("no option --" + name + " in this table");
    }
    return it->second;
}

Value&
Values::Slot(const std::string& name)
{
    return m_values[name];
}

const Value&
Values::At(Member member) const
{
    static const Value none;
    const auto option = m_options ? m_options->find(member) : decltype(m_options->end()){};
    return m_options && option != m_options->end() ? (*this)[option->second] : none;
}

Value&
Values::Slot(Member member)
{
    return m_values[NameOf(member)];
}

const std::string&
Values::NameOf(Member member) const
{
    const auto option = m_options ? m_options->find(member) : decltype(m_options->end()){};
    return m_options && option != m_options->end() ? option->second : OptionOf(member);
}

void
Values::BindTo(const OptionTable& table)
{
    m_options = table.ByMember();
}

std::string
Values::Where(Member member) const
{
    const Value& value = At(member);
    return value.given && !value.where.empty() ? value.where : Spell(member);
}

std::string
Values::Where(const std::string& name) const
{
    const Value& v = (*this)[name];
    return v.given && !v.where.empty() ? v.where : "--" + name;
}

} // namespace scenario
