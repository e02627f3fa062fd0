/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/study-table.h"

#include "reports/base/human-text.h"
#include "reports/schema/table-file.h"

#include <algorithm>
#include <cstddef>

namespace reports
{

namespace
{

/// A line of study.csv.
struct StudyRow
{
    std::string options;
    std::optional<double> stepUs;
    std::optional<double> exposedUs;
    std::optional<double> queuedUs;
    std::string why;
};

const Table<StudyRow> STUDY(
    "study.csv",
    {{"options: Combination of the study, NAME=VALUE with blanks between", &StudyRow::options},
     {"step_us (us): Step time; empty: the run came to no end", &StudyRow::stepUs},
     {"exposed_us (us): Communication without computing; empty: not known", &StudyRow::exposedUs},
     {"queue_wait_us (us): Mean wait of a collective in the queue; empty: there was no queue",
      &StudyRow::queuedUs},
     {"why: Why a run came to no end; empty: it did", &StudyRow::why}});

constexpr int COLUMN = 13;

} // namespace

bool
StudyTable::AnyRan() const
{
    return std::any_of(m_runs.begin(), m_runs.end(), [](const Run& run) { return run.step; });
}

void
StudyTable::Sort()
{
    std::stable_sort(m_runs.begin(), m_runs.end(), [](const Run& a, const Run& b) {
        return a.step && (!b.step || *a.step < *b.step);
    });
}

void
StudyTable::Print(std::ostream& os)
{
    Sort();
    std::size_t width = COLUMN;
    for (const std::string& option : m_options)
    {
        width = std::max(width, option.size());
    }
    const auto column = [width](const std::string& text) {
        return text + std::string(width + 2 - std::min(width, text.size()), ' ');
    };
    for (const std::string& option : m_options)
    {
        os << column(option);
    }
    const bool queued =
        std::any_of(m_runs.begin(), m_runs.end(), [](const Run& run) { return run.queued; });
    const auto inQueue = [queued](const std::string& text) {
        return queued ? Format("%10s  ", text.c_str()) : std::string();
    };
    os << Format("%10s  %10s  ", "step", "exposed") << inQueue("in queue") << "over the fastest\n";
    const auto time = [](const std::optional<double>& seconds) {
        return seconds ? HumanTime(*seconds * 1e6) : std::string("-");
    };
    for (const Run& run : m_runs)
    {
        for (const std::string& value : run.values)
        {
            os << column(value);
        }
        if (!run.step)
        {
            os << "no step: " << run.why << "\n";
            continue;
        }
        const double over = *run.step / *m_runs.front().step - 1;
        os << Format("%10s  %10s  ", time(run.step).c_str(), time(run.exposed).c_str())
           << inQueue(time(run.queued)) << (over > 0 ? Format("+%.1f%%", 100 * over) : "") << "\n";
    }
}

void
StudyTable::Write(const std::string& out)
{
    Sort();
    const auto us = [](const std::optional<double>& seconds) {
        return seconds ? std::optional(*seconds * 1e6) : std::nullopt;
    };
    WriteRows(out, "", STUDY, [&](const auto& write) {
        for (const Run& run : m_runs)
        {
            StudyRow row;
            for (std::size_t i = 0; i < m_options.size(); ++i)
            {
                row.options += (i > 0 ? " " : "") + m_options[i] + "=" + run.values[i];
            }
            row.stepUs = us(run.step);
            row.exposedUs = us(run.exposed);
            row.queuedUs = us(run.queued);
            row.why = run.why;
            write(row);
        }
    });
}

} // namespace reports
