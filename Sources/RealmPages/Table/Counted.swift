// Numbers with their nouns, for messages.

/// Returns `1 object` or `2 objects`.
package func counted(_ count: Int, _ noun: String) -> String { counted(count, noun, noun + "s") }

/// Returns `1 property` or `2 properties`.
package func counted(_ count: Int, _ noun: String, _ plural: String) -> String {
  "\(count) \(count == 1 ? noun : plural)"
}
