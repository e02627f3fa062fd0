/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An option of dltrain with a value, as a layout sets it. It becomes text only where somebody reads
 * it.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_SETTING_H
#define SCENARIOS_LAYOUT_SEARCH_SETTING_H

#include "scenarios/options/options.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace planner
{

class Setting
{
  public:
    template <class S, class T>
    Setting(T S::*option, const typename scenario::Held<T>::Type& to)
        : m_option(option)
    {
        scenario::Value value;
        scenario::SetValue(&value, to);
        m_value = std::make_shared<const scenario::Value>(std::move(value));
    }

    /// \param text as users write it
    Setting(scenario::Member option, const std::string& text);

    scenario::Member Option() const
    {
        return m_option;
    }

    /// "tp"
    const std::string& Name() const
    {
        return scenario::OptionOf(m_option);
    }

    /// "8"
    std::string Text() const;

    void ApplyTo(scenario::ReadResult* job) const;

    bool operator==(const Setting& other) const
    {
        return m_option == other.m_option && Text() == other.Text();
    }

  private:
    scenario::Member m_option;
    /// Of all copies: layouts that differ in one setting share the others.
    std::shared_ptr<const scenario::Value> m_value;
};

using Settings = std::vector<Setting>;

/// \return whether one of them is of this option
bool Has(const Settings& settings, scenario::Member option);

/// Those of other options.
Settings Without(Settings settings, scenario::Member option);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_SETTING_H
