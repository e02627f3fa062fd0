/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_OUTPUT_ERRORS_H
#define REPORTS_BASE_OUTPUT_ERRORS_H

#include <exception>
#include <string>
#include <vector>

namespace reports
{

/// The text of an exception for a user: "out of memory", or its own words.
std::string ReasonOf(const std::exception& error);

/**
 * The outputs that could not be written, of the whole program: a run whose results are incomplete
 * must not end as if all were well. A file counts once, with its first error. Used by the
 * simulation's thread alone.
 */
class OutputErrors
{
  public:
    /// The file's `errno` was `error`.
    static void Add(const std::string& path, int error);
    /// \param why "No space left on device"
    static void Add(const std::string& path, const std::string& why);

    /// A page or a timeline, made of results that are complete.
    static void AddView(const std::string& path, const std::string& why);

    static bool Any()
    {
        return !First().empty();
    }

    /// \return whether something else than a view could not be written
    static bool ResultsLost();

    /// \return names of the files that are not whole, without their folder
    static std::vector<std::string> LostFiles();

    /// \return "path: cannot be written: No space left on device", of a result if there is one;
    /// empty if all was written
    static std::string First();
    /// \param status status of a run
    /// \return it, or not 0 if an output failed. Then it prints one error for each.
    static int Status(const std::string& program, int status);

    /// For tests: nothing has failed.
    static void Forget();
};

/// Give a file that was written beside its place its name; if that fails it is removed, and the
/// OutputErrors know. \return whether it worked
bool RenameOutput(const std::string& temporary, const std::string& path);

} // namespace reports

#endif // REPORTS_BASE_OUTPUT_ERRORS_H
