;;; tokens.el --- Faces of places, messages  -*- lexical-binding: t; -*-
;; As tokens.vim and make.vim: the face of each place of $PLACES (`= FILE', then bytes from its beginning); the messages of
;; flymake on $PROGRAM and the formatted buffer.
(require 'sf-mode)

(defun tokens--face (place)
  (let ((face (get-text-property (byte-to-position (1+ place)) 'face)))
    (format "%s" (if (consp face) (car (last face)) face))))

(defun tokens-write (result lines)
  (with-temp-file result
    (let ((coding-system-for-write 'utf-8))
      (dolist (line lines)
        (insert line "\n")))))

(defun tokens-places ()
  (let (out)
    (dolist (line (with-temp-buffer
                    (insert-file-contents (getenv "PLACES"))
                    (split-string (buffer-string) "\n" t)))
      (if (string-prefix-p "= " line)
          (progn
            (kill-buffer (current-buffer))
            (let ((coding-system-for-read 'utf-8-unix))
              (find-file (substring line 2)))
            (push (format "= %s" major-mode) out)
            (font-lock-ensure))
        (push (tokens--face (string-to-number line)) out)))
    (tokens-write (getenv "RESULT") (nreverse out))))

(defun tokens-make ()
  (find-file (getenv "PROGRAM"))
  (let (out done)
    (sf-flymake (lambda (found &rest _)
                  (setq done t)
                  (dolist (d found)
                    (with-current-buffer (flymake-diagnostic-buffer d)
                      (push (format "%s:%s:%s" (line-number-at-pos (flymake-diagnostic-beg d))
                                    (flymake-diagnostic-type d) (flymake-diagnostic-text d))
                            out)))))
    (with-timeout (60)
      (while (not done)
        (accept-process-output nil 0.1)))
    (sf-format-buffer)
    (tokens-write (getenv "RESULT") (append (nreverse out) (list (buffer-string))))))
