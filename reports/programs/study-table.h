/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The table of a study (--study): one row a combination of options, the fastest first.
 */
#ifndef REPORTS_STUDY_TABLE_H
#define REPORTS_STUDY_TABLE_H

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace reports
{

class StudyTable
{
  public:
    /// Times in seconds; nothing: not known.
    struct Run
    {
        std::vector<std::string> values; ///< by option
        std::optional<double> step;      ///< nothing: it came to no end
        std::optional<double> exposed;
        std::optional<double> queued;
        std::string why; ///< why there is no step
    };

    explicit StudyTable(std::vector<std::string> options)
        : m_options(std::move(options))
    {
    }

    void Add(Run run)
    {
        m_runs.push_back(std::move(run));
    }

    bool AnyRan() const;
    void Print(std::ostream& os);
    /// study.csv
    void Write(const std::string& out);

  private:
    /// The fastest first; equal ones as they were added.
    void Sort();

    std::vector<std::string> m_options;
    std::vector<Run> m_runs;
};

} // namespace reports

#endif // REPORTS_STUDY_TABLE_H
