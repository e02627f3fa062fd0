/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/setting.h"

#include "scenarios/job/parse-result.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace planner
{

namespace
{

const scenario::Option&
RowOf(scenario::Member option)
{
    return *scenario::TrainingOptionTable().Find(option);
}

} // namespace

Setting::Setting(scenario::Member option, const std::string& text)
    : m_option(option)
{
    scenario::Value value;
    scenario::Error error;
    scenario::ParseValue(RowOf(option), text, scenario::Spell(option), &value, &error);
    m_value = std::make_shared<const scenario::Value>(std::move(value));
}

std::string
Setting::Text() const
{
    return m_value->raw.empty() ? scenario::CanonicalText(RowOf(m_option), *m_value) : m_value->raw;
}

void
Setting::ApplyTo(scenario::ReadResult* job) const
{
    scenario::Value value = *m_value;
    value.given = value.present = true;
    value.where = scenario::Spell(m_option);
    value.raw = Text();
    job->values.Slot(m_option) = std::move(value);
    job->kept.erase(Name());
}

bool
Has(const Settings& settings, scenario::Member option)
{
    return std::any_of(settings.begin(), settings.end(), [option](const Setting& one) {
        return one.Option() == option;
    });
}

Settings
Without(Settings settings, scenario::Member option)
{
    settings.erase(std::remove_if(settings.begin(),
                                  settings.end(),
                                  [option](const Setting& one) { return one.Option() == option; }),
                   settings.end());
    return settings;
}

} // namespace planner
